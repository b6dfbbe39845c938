// Places in the library by the entry of the history, as long as this tab lives: numbers only.

import { placesStored, storePlaces } from "../../frame/memory.js";

export interface Place {
  /** When the media was created, in milliseconds since the epoch: it is found by this. */
  createdAt: number;
  /** Media above it that were created in the same millisecond. */
  sameAbove: number;
  /** Pixels from the top of the window. */
  top: number;
  hadFocus: boolean;
}

/** Places that are kept. */
const PLACES_MAX = 20;

/** Key of the entry, the numbers of the place, and 1 if the media had the focus. */
type Row = [key: number, createdAt: number, sameAbove: number, top: number, hadFocus: number];

function read(): Row[] {
  const rows = placesStored();
  return Array.isArray(rows) ? rows.filter(isRow) : [];
}

function isRow(row: unknown): row is Row {
  return Array.isArray(row) && row.length === 5 && row.every((value) => typeof value === "number" && Number.isFinite(value));
}

export function placeOf(key: number): Place | null {
  const row = read().find(([other]) => other === key);
  return row === undefined ? null : { createdAt: row[1], sameAbove: row[2], top: row[3], hadFocus: row[4] === 1 };
}

export function setPlace(key: number, { createdAt, sameAbove, top, hadFocus }: Place): void {
  const others = read().filter(([other]) => other !== key);
  storePlaces([...others, [key, createdAt, sameAbove, top, hadFocus ? 1 : 0]].slice(-PLACES_MAX));
}

export function forgetPlace(key: number): void {
  const rows = read();
  const others = rows.filter(([other]) => other !== key);
  if (others.length < rows.length) storePlaces(others);
}

/** A key that no entry of the history has, also none of an earlier document. */
export function newKey(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
}
