// The form of the details as data.

import type { MediaDetails } from "../../api/media.js";
import type { Media } from "../../api/media-types.js";

/** Entries of the metadata that the API takes. */
export const METADATA_MAX = 10;

/** An entry of the metadata in the form. */
export interface Row {
  /** Names the row while the form is open. */
  id: number;
  key: string;
  value: string;
  /** Whether the person has just added it. */
  isNew?: boolean;
}

export function detailsOf({ title, creatorId, metadata }: Media): MediaDetails {
  return { title, creatorId: creatorId ?? null, metadata };
}

export function rowsOf(metadata: Record<string, string>): Row[] {
  return Object.entries(metadata).map(([key, value], id) => ({ id, key, value }));
}

/** What the form says. An empty text is none. */
export function write(title: string, creatorId: string, rows: Row[]): MediaDetails {
  return {
    title: title === "" ? null : title,
    creatorId: creatorId === "" ? null : creatorId,
    metadata: Object.fromEntries(rows.map(({ key, value }) => [key, value])),
  };
}

export function isSame(a: MediaDetails, b: MediaDetails): boolean {
  const keys = Object.keys(a.metadata);
  return (
    (a.title ?? "") === (b.title ?? "") &&
    (a.creatorId ?? "") === (b.creatorId ?? "") &&
    keys.length === Object.keys(b.metadata).length &&
    keys.every((key) => Object.hasOwn(b.metadata, key) && a.metadata[key] === b.metadata[key])
  );
}

/** A key that two rows have: an object cannot say it. */
export function duplicateOf(rows: Row[]): string | null {
  const seen = new Set<string>();
  for (const { key } of rows) {
    if (seen.has(key)) return key;
    seen.add(key);
  }
  return null;
}

/** One field in both versions, where they differ. `null` where a version has none. */
export interface Difference {
  /** `title`, `creatorId` or a key of the metadata. */
  field: { kind: "title" | "creatorId" } | { kind: "metadata"; key: string };
  mine: string | null;
  theirs: string | null;
}

export function differences(mine: MediaDetails, theirs: MediaDetails): Difference[] {
  const keys = new Set([...Object.keys(mine.metadata), ...Object.keys(theirs.metadata)]);
  const all: Difference[] = [
    { field: { kind: "title" }, mine: mine.title, theirs: theirs.title },
    { field: { kind: "creatorId" }, mine: mine.creatorId, theirs: theirs.creatorId },
    ...[...keys].map((key) => ({
      field: { kind: "metadata" as const, key },
      mine: valueOf(mine.metadata, key),
      theirs: valueOf(theirs.metadata, key),
    })),
  ];
  return all.filter((field) => (field.mine ?? "") !== (field.theirs ?? "") || (field.mine === null) !== (field.theirs === null));
}

function valueOf(metadata: Record<string, string>, key: string): string | null {
  return Object.hasOwn(metadata, key) ? (metadata[key] ?? null) : null;
}
