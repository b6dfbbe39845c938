// New entries of the queue, and how many run at once.

import { recall } from "../frame/memory.js";
import type { Chosen } from "../upload-ui/intake.js";
import type { Item, UploadSettings } from "./item.js";

/** A file that the person adds. */
export interface Added {
  chosen: Chosen;
  ends: string;
  settings: UploadSettings;
}

export const AT_ONCE_MAX = 6;
const AT_ONCE_DEFAULT = 3;

/** Entries that wait, after the position `last` of the queue. */
export function newItems(personId: string, workspaceId: string, added: Added[], last: number): Item[] {
  return added.map(({ chosen: { file, handle }, ends, settings }, index) => ({
    id: randomId(),
    personId,
    workspaceId,
    order: last + index + 1,
    name: file.name,
    size: file.size,
    ends,
    handle,
    settings,
    addedAt: Date.now(),
    phase: "waiting",
    problem: null,
    uploadId: null,
    creationKey: randomId(),
    tries: 0,
  }));
}

/** How many uploads run at once in this browser. */
export function atOnceStored(): number {
  const count = Number(recall("uploadsAtOnce"));
  return Number.isInteger(count) && count >= 1 && count <= AT_ONCE_MAX ? count : AT_ONCE_DEFAULT;
}

/** `crypto.randomUUID` does not exist over plain HTTP. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
