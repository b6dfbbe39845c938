// Finds the uploads of files that are chosen again, after a reload that has lost them.

import type { Item } from "./item.js";

/** A file and the hash of its ends. */
export interface Candidate {
  name: string;
  size: number;
  ends: string;
}

export type Mismatch = "unknown" | "size" | "content";

/** A file that belongs to no upload. */
export interface Refused {
  name: string;
  mismatch: Mismatch;
  /** The upload that it resembles. */
  expected: Item | null;
}

/** The upload that this file belongs to, or why it belongs to none. */
export function matchOf(items: Item[], { name, size, ends }: Candidate): { item: Item } | { mismatch: Mismatch; expected?: Item } {
  const named = items.filter((item) => item.name === name);
  const sized = named.filter((item) => item.size === size);
  const item = sized.find((item) => item.ends === ends);
  if (item !== undefined) return { item };
  const [expected] = sized.length > 0 ? sized : named;
  if (expected === undefined) return { mismatch: "unknown" };
  return { mismatch: sized.length > 0 ? "content" : "size", expected };
}
