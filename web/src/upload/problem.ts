// Why an upload does not go on, in words for the person in front of it, and what to do next.

import type { Status } from "./status.js";

/** A reason, and what can be done about it. */
export interface Problem {
  /** A few words. */
  title: string;
  /** What happened, and the next step. */
  text: string;
  /** Whether trying again can help: by itself after a while, when the person asks for it, or not at all. */
  retry: "by-itself" | "on-request" | "never";
  /** How long to wait before it is tried again by itself, where the server said so. */
  after_ms?: number;
}

/** An answer of the server that is not the one that was wanted. */
export interface Refusal {
  /** 0 when no answer came. */
  status: number;
  /** Value of the header Retry-After. */
  retryAfter: string | null;
  /** The server's words, in lower case and without a full stop. */
  description: string;
  /** Whether the answer says where the upload stands, which is elsewhere than the page thought. */
  isBehind: boolean;
}

export const NO_ANSWER: Refusal = { status: 0, retryAfter: null, description: "", isBehind: false };

/** A file without a byte. */
export const EMPTY: Problem = {
  title: "This file is empty",
  text: "It has no bytes to send. Choose another file.",
  retry: "never",
};

/** The browser cannot read the file any more: it was changed, moved or taken away. */
export const UNREADABLE: Problem = {
  title: "The file cannot be read",
  text: "It was changed or moved, or its disk was removed. The part sent so far is saved. Press “Try again” and choose the file once more.",
  retry: "on-request",
};

/** Longer waits that a server asks for are cut to this: whoever sends has not gone yet. */
const RETRY_AFTER_MAX_S = 60;

const LINK = "Request a new link where you got this one.";

/** What to say of a refusal. */
export function problemOf(refusal: Refusal): Problem {
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
      return { title: "Not allowed from here", text: `${words} ${LINK}`, retry: "never" };
    case 404:
      return {
        title: "There is no upload at this address",
        text: `The link is incomplete, or its upload was deleted. ${LINK}`,
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
      return { title: "This upload is over", text: `${words} ${LINK}`, retry: "never" };
    case 413:
      return { title: "The file is too large", text: words, retry: "never" };
    case 415:
    case 422:
      return { title: "This file cannot be used", text: `${words} ${LINK}`, retry: "never" };
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

/** What to say of an upload that can come to nothing any more, or `null` while it can. */
export function endOf({ status, error }: Status): Problem | null {
  const words = sentence(error?.message ?? "");
  switch (status) {
    case "cancelled":
      return { title: "This upload was cancelled", text: `The sent part is deleted. ${LINK}`, retry: "never" };
    case "timedout":
      return {
        title: "This upload has expired",
        text: `No data arrived in time, so the upload ended. ${LINK}`,
        retry: "never",
      };
    case "failed":
      return { title: "This file cannot be used", text: `${words} ${LINK}`, retry: "never" };
    case "completed":
      return error === undefined
        ? null
        : { title: "This file cannot be played", text: `It was uploaded, but processing failed. ${words} ${LINK}`, retry: "never" };
  }
  return null;
}

/** Seconds to wait. The other form of Retry-After, a date (RFC 9110, 10.2.3), is not read. */
function waitOf(retryAfter: string | null): { after_ms?: number } {
  if (retryAfter === null || !/^\d+$/.test(retryAfter)) return {};
  return { after_ms: 1_000 * Math.min(Math.max(Number(retryAfter), 1), RETRY_AFTER_MAX_S) };
}

function sentence(words: string): string {
  if (words === "") return "";
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.!?]$/.test(words) ? "" : "."}`;
}
