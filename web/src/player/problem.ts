// Reasons why a stream does not play, in words for the viewer.

import type { Answer } from "./playback.js";

/** A reason and its remedy. */
export interface Problem {
  /** A few words. */
  title: string;
  /** One or two sentences: what happened and what to do. */
  text: string;
  /** Whether a retry can help: automatic after a delay, on request, or never. */
  retry: "by-itself" | "on-request" | "never";
  /** Delay before the automatic retry, if the server gave one. */
  after_ms?: number;
}

/** The browser received the bytes and cannot decode them. */
export const UNDECODABLE: Problem = {
  title: "This cannot be played here",
  text: "The browser could not decode the stream. Another or a newer browser may be able to.",
  retry: "on-request",
};

/** Neither Media Source Extensions nor built-in HLS. */
export const UNSUPPORTED: Problem = {
  title: "This browser is too old",
  text: "It can play neither HLS nor Media Source Extensions. A newer browser can.",
  retry: "never",
};

/** The server has not filled in the template. */
export const UNFILLED: Problem = {
  title: "Nothing to play",
  text: "This page does not name a stream.",
  retry: "never",
};

/** The manifest is available, but playback stopped. */
export const INTERRUPTED: Problem = {
  title: "The stream was interrupted",
  text: "Part of it could not be loaded. Playback resumes where it stopped.",
  retry: "on-request",
};

const OFFLINE: Problem = {
  title: "No connection",
  text: "The server cannot be reached. The player continues as soon as it responds.",
  retry: "by-itself",
};

const PREPARING: Problem = {
  title: "Still being prepared",
  text: "Playback starts by itself in a moment.",
  retry: "by-itself",
};

const FAILED: Problem = {
  title: "This cannot be played",
  text: "It could not be processed. Its owner can see the reason.",
  retry: "never",
};

const NOT_FOUND: Problem = {
  title: "Not found",
  text: "It was deleted, or the address is incomplete.",
  retry: "on-request",
};

const BUSY: Problem = {
  title: "The server is busy",
  text: "The player retries by itself.",
  retry: "by-itself",
};

/** Temporary statuses: too many requests, service unavailable, insufficient storage. */
const NOT_NOW = [429, 503, 507];

/** Maximum delay before a retry, for longer values of Retry-After: the viewer still waits. */
const RETRY_AFTER_MAX_S = 60;

/** Timeout for the response to the manifest request. */
const ANSWER_TIMEOUT_MS = 15_000;

/**
 * Requests the manifest and diagnoses the response; `null` if it can be played.
 *
 * The statuses of playback URLs: 400 with a message that contains `ready` for a media that is not ready, 401
 * without a valid token, 403 by a restriction, 404 for an unknown URL.
 */
export async function diagnose(manifest: string): Promise<Problem | null> {
  let answer: Response;
  try {
    answer = await fetch(manifest, { cache: "no-store", signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  } catch {
    return OFFLINE;
  }
  if (answer.ok) return null;
  const { status } = answer;
  const busy = busyOf({ status, retryAfter: answer.headers.get("Retry-After") });
  if (busy !== null) return busy;
  if (status >= 500) return BUSY;
  const { message, description } = await readError(answer);

  switch (status) {
    case 400:
      if (/ready/i.test(message)) return PREPARING;
      break;
    case 401:
      return {
        title: "This is private",
        text: "The link is incomplete or no longer valid. Request a new one where you got it.",
        retry: "on-request",
      };
    case 403:
      return {
        title: "Not allowed here",
        text: "Its owner does not allow it to be played on this site or with this application.",
        retry: "on-request",
      };
    case 404:
    case 410:
      // A failed media has the status of a deleted one; only the description differs.
      return /failed/i.test(description) ? FAILED : NOT_FOUND;
  }
  return {
    title: "This cannot be played",
    text: description || message || `The server responded with status ${status}.`,
    retry: "on-request",
  };
}

/**
 * The problem of a temporary status, or `null` for any other one. Reads Retry-After in seconds; the date
 * form (RFC 9110, 10.2.3) is ignored.
 */
export function busyOf({ status, retryAfter }: Answer): Problem | null {
  if (!NOT_NOW.includes(status)) return null;
  if (retryAfter === null || !/^\d+$/.test(retryAfter)) return BUSY;
  return { ...BUSY, after_ms: 1_000 * Math.min(Math.max(Number(retryAfter), 1), RETRY_AFTER_MAX_S) };
}

/** The texts of `{"success": false, "error": {"code", "message", "description"}}`, else empty strings. */
async function readError(answer: Response): Promise<{ message: string; description: string }> {
  try {
    const body = (await answer.json()) as { error?: { message?: unknown; description?: unknown } };
    return { message: String(body.error?.message ?? ""), description: String(body.error?.description ?? "") };
  } catch {
    return { message: "", description: "" };
  }
}
