// What the server tells of the upload at the page's own address. Asking disturbs nobody who sends.

import { NO_ANSWER, type Refusal } from "./problem.js";

/** The states of an upload. */
export type State = "waiting" | "uploading" | "completed" | "cancelled" | "timedout" | "failed";

/** How an upload stands, and what came of it. */
export interface Status {
  uploadId: string;
  status: State;
  /** Bytes from the start that are kept at least. */
  keptBytes: number;
  /** Bytes of the whole file, once a client said so. */
  sizeBytes?: number;
  /** Whether the media can be played, by those who may. */
  isReady: boolean;
  /** The page that plays it, where everybody may. */
  playerUrl?: string;
  /** Why the upload failed, or its media. */
  error?: { code: string; message: string };
}

/** The address of the page, which is that of the upload. */
export const address = location.href.replace(/#.*$/s, "");

/** How long an answer may take before it counts as none. */
const ANSWER_TIMEOUT_MS = 30_000;

/** Asks how the upload stands; what comes instead of that is a refusal. */
export async function ask(): Promise<{ status: Status } | { refusal: Refusal }> {
  let answer: Response;
  let body: unknown;
  try {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    answer = await fetch(address, { headers: { Accept: "application/json" }, cache: "no-store", signal });
    body = await answer.json();
  } catch {
    return { refusal: NO_ANSWER };
  }
  if (answer.ok) return { status: (body as { data: Status }).data };
  const retryAfter = answer.headers.get("Retry-After");
  return { refusal: { status: answer.status, retryAfter, description: descriptionOf(body), isBehind: false } };
}

/** The sentence of `{"success": false, "error": {"code", "message", "description"}}`, empty where there is none. */
export function descriptionOf(body: unknown): string {
  const { error } = (body ?? {}) as { error?: { message?: unknown; description?: unknown } };
  return String(error?.description ?? error?.message ?? "");
}
