// Reasons why an upload stops, in words for the user, and the next step.

import type { Status } from "./status.js";

/** A reason and its remedy. */
export interface Problem {
  /** A few words. */
  title: string;
  /** What happened, and the next step. */
  text: string;
  /** Whether a retry can help: automatic after a delay, on request, or never. */
  retry: "by-itself" | "on-request" | "never";
  /** Delay before the automatic retry, if the server gave one. */
  after_ms?: number;
  /** Whether the same bytes fail again, so another file is needed. */
  isFileAtFault?: boolean;
  /** The error of the server that ended the upload or its media. */
  failure?: Status["error"];
}

/** An unexpected response of the server. */
export interface Refusal {
  /** Status; 0 without a response. */
  status: number;
  /** Value of the header Retry-After. */
  retryAfter: string | null;
  /** The server's description, in lower case and without a full stop. */
  description: string;
  /** Whether the response has the offset of the upload, which differs from the page's. */
  isBehind: boolean;
}

export const NO_ANSWER: Refusal = { status: 0, retryAfter: null, description: "", isBehind: false };

/** An empty file. */
export const EMPTY: Problem = {
  title: "This file is empty",
  text: "It has no bytes to send. Choose another file.",
  retry: "never",
};

/** The browser cannot read the file any more: it was changed, moved or removed. */
export const UNREADABLE: Problem = {
  title: "The file cannot be read",
  text: "It was changed or moved, or its disk was removed. The part sent so far is saved. Press “Try again” and choose the file once more.",
  retry: "on-request",
};

/** Delays between automatic retries when the server gives none; the last one repeats. */
const RETRY_AFTER_MS = [500, 1_000, 2_000, 3_000, 5_000, 10_000];
/** Maximum delay before a retry, for longer values of Retry-After: the user still waits. */
const RETRY_AFTER_MAX_S = 60;

const LINK = "Request a new link where you got this one.";

/** The problem of an error response. `next` says what to do when this upload cannot go on. */
export function problemOf(refusal: Refusal, next = LINK): Problem {
  const { status, retryAfter, description } = refusal;
  const words = sentence(description);
  switch (status) {
    case 0:
      return navigator.onLine
        ? {
            title: "The server cannot be reached",
            text: "The part sent so far is saved. The upload resumes by itself as soon as the server responds.",
            retry: "by-itself",
          }
        : {
            title: "No connection",
            text: "You are offline. The part sent so far is saved. The upload resumes by itself when you are online again.",
            retry: "by-itself",
          };
    case 403:
      return { title: "Not allowed from here", text: `${words} ${next}`, retry: "never" };
    case 404:
      return {
        title: "There is no upload at this address",
        text: `The link is incomplete, or its upload was deleted. ${next}`,
        retry: "never",
      };
    case 409:
      return {
        title: "Another page sends this upload",
        text:
          "Another tab or another program sends this upload now, so this page has stopped. " +
          "Close the other one, then press “Resume” to send from here.",
        retry: "on-request",
      };
    case 410:
      return { title: "This upload has expired", text: `${words} ${next}`, retry: "never" };
    case 413:
      return { title: "The file is too large", text: words, retry: "never" };
    case 415:
    case 422:
      return { title: "This file cannot be used", text: `${words} ${next}`, retry: "never" };
    case 423:
      return {
        title: "Another request is still ending",
        text: "The upload resumes by itself in a moment.",
        retry: "by-itself",
        ...waitOf(retryAfter),
      };
    case 507:
      return {
        title: "The server’s disk is full",
        text:
          "The part sent so far is saved. Leave this page open: the upload resumes by itself when disk space is free again. " +
          "If that takes long, tell the operator of the server.",
        retry: "by-itself",
        ...waitOf(retryAfter),
      };
  }
  if ([408, 429].includes(status) || status >= 500) {
    return {
      title: "The server is busy",
      text: "The part sent so far is saved. The upload resumes by itself as soon as the server has capacity.",
      retry: "by-itself",
      ...waitOf(retryAfter),
    };
  }
  return {
    title: "The server rejected this",
    text: words || `It responded with status ${status}.`,
    retry: "on-request",
  };
}

/** The problem of an upload that can no longer complete; `null` if it can. `next` as for `problemOf`. */
export function endOf({ status, error }: Status, next = LINK): Problem | null {
  const words = sentence(error?.message ?? "");
  switch (status) {
    case "cancelled":
      return { title: "This upload was cancelled", text: `The sent part is deleted. ${next}`, retry: "never" };
    case "timedout":
      return {
        title: "This upload has expired",
        text: `No data arrived in time, so the upload ended. ${next}`,
        retry: "never",
      };
    case "failed":
      return { title: "This file cannot be used", text: `${words} ${next}`, retry: "never", failure: error };
    case "completed":
      return error === undefined
        ? null
        : { title: "This file cannot be played", text: `It was uploaded, but processing failed. ${words} ${next}`, retry: "never", failure: error };
  }
  return null;
}

/** Delay before the automatic retry after this many attempts. */
export function retryAfter_ms(problem: Problem, tries: number): number {
  return problem.after_ms ?? RETRY_AFTER_MS[Math.min(tries, RETRY_AFTER_MS.length - 1)] ?? 0;
}

/** Retry-After in seconds. The date form (RFC 9110, 10.2.3) is ignored. */
function waitOf(retryAfter: string | null): { after_ms?: number } {
  if (retryAfter === null || !/^\d+$/.test(retryAfter)) return {};
  return { after_ms: 1_000 * Math.min(Math.max(Number(retryAfter), 1), RETRY_AFTER_MAX_S) };
}

function sentence(words: string): string {
  if (words === "") return "";
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.!?]$/.test(words) ? "" : "."}`;
}
