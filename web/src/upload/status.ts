// The status of an upload, requested from its URL. A status request does not interrupt a running upload.

import { NO_ANSWER, type Refusal } from "./problem.js";

/** The states of an upload. */
export type State = "waiting" | "uploading" | "completed" | "cancelled" | "timedout" | "failed";

/** The status of an upload, and its result. */
export interface Status {
  uploadId: string;
  status: State;
  /** Bytes from the start that are stored at least. */
  keptBytes: number;
  /** Size of the file, once a client has sent it. */
  sizeBytes?: number;
  /** Whether authorised viewers can play the media. */
  isReady: boolean;
  /** The player page, if every viewer may play the media. */
  playerUrl?: string;
  /** Why the upload or its media failed. */
  error?: { code: string; message: string };
}

/** Timeout for a response. */
const ANSWER_TIMEOUT_MS = 30_000;

/** Requests the status of the upload at this URL; any other response is a refusal. */
export async function ask(address: string): Promise<{ status: Status } | { refusal: Refusal }> {
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

/**
 * The description of `{"success": false, "error": {"code", "message", "description"}}`, else an empty
 * string.
 */
export function descriptionOf(body: unknown): string {
  const { error } = (body ?? {}) as { error?: { message?: unknown; description?: unknown } };
  return String(error?.description ?? error?.message ?? "");
}
