// Which file an upload was begun with, remembered in this browser: the file itself a page cannot keep over a reload.

import { defaultOptions } from "tus-js-client";

/** A file as it was chosen. */
export interface Remembered {
  /** tus-js-client's: of name, type, size and time of change. */
  fingerprint: string;
  name: string;
}

// By the id, not by the address: that one is a secret.
const keyOf = (uploadId: string) => `kinora.upload.${uploadId}`;

/** What tells a file from another one. */
export async function fingerprintOf(file: File, uploadId: string): Promise<string> {
  return (await defaultOptions.fingerprint?.(file, { ...defaultOptions, endpoint: uploadId })) ?? "";
}

/** What was chosen before, in this browser. */
export function recall(uploadId: string): Remembered | null {
  try {
    const { fingerprint, name } = JSON.parse(localStorage.getItem(keyOf(uploadId)) ?? "") as Record<string, unknown>;
    return typeof fingerprint === "string" && typeof name === "string" ? { fingerprint, name } : null;
  } catch {
    return null; // nothing is there, or it may not be looked at
  }
}

export function remember(uploadId: string, chosen: Remembered): void {
  try {
    localStorage.setItem(keyOf(uploadId), JSON.stringify(chosen));
  } catch {
    // It is full or forbidden: somebody who comes back is asked.
  }
}

export function forget(uploadId: string): void {
  try {
    localStorage.removeItem(keyOf(uploadId));
  } catch {
    // Then nothing was remembered.
  }
}
