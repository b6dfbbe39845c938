// Saves a text as a file. The browser makes it: the server keeps no copy.

import type { TextFile } from "../../api/types.js";

/** A browser that asks where to save reads the file after the answer. */
const REVOKE_MS = 60_000;

export function download({ name, text }: TextFile, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), REVOKE_MS);
}
