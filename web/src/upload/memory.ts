// Stores in this browser which file an upload was started with. A page cannot keep the file itself over a
// reload.

import { defaultOptions } from "tus-js-client";

/** A file of the upload. */
export interface Remembered {
  /** The fingerprint of tus-js-client: name, type, size and modification time. */
  fingerprint: string;
  name: string;
}

// Keyed by the id, because the URL is a secret.
const keyOf = (uploadId: string) => `kinora.upload.${uploadId}`;

/** A fingerprint that distinguishes files. */
export async function fingerprintOf(file: File, uploadId: string): Promise<string> {
  return (await defaultOptions.fingerprint?.(file, { ...defaultOptions, endpoint: uploadId })) ?? "";
}

/** The file that was chosen before in this browser. */
export function recall(uploadId: string): Remembered | null {
  try {
    const { fingerprint, name } = JSON.parse(localStorage.getItem(keyOf(uploadId)) ?? "") as Record<string, unknown>;
    return typeof fingerprint === "string" && typeof name === "string" ? { fingerprint, name } : null;
  } catch {
    return null; // not stored, or storage access is denied
  }
}

export function remember(uploadId: string, chosen: Remembered): void {
  try {
    localStorage.setItem(keyOf(uploadId), JSON.stringify(chosen));
  } catch {
    // Storage is full or forbidden. After a reload the page asks the user.
  }
}

export function forget(uploadId: string): void {
  try {
    localStorage.removeItem(keyOf(uploadId));
  } catch {
    // Nothing was stored.
  }
}
