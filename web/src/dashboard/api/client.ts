// Requests to the server. The only file that calls `fetch`, except `early.ts` for the first ones.
//
// A request whose session has ended waits until the person has signed in again, then runs once more. So an
// action goes on where it stopped (`session-end.ts`). The same holds for one that needs a confirmation
// (`confirmation.ts`). Reads that the server is too busy for are repeated by `retryPolicy`; what changes
// something is never repeated without the person.

import { CONFIRMATION_NEEDED, confirmation } from "./confirmation.js";
import { takeEarlyResponse } from "./early-responses.js";
import { sessionEnd } from "./session-end.js";
import { shownPerson } from "./shown-person.js";
import type { ErrorBody, FieldError } from "./types.js";

const BASE = "/dashboard/api";
/** The reason of a 409 for the page of another person than the one who is signed in now. */
const PERSON_CHANGED = "person changed";
/** The reason of a success whose body is cut off or no JSON, such as the page of a proxy. */
export const UNREADABLE_RESPONSE = "unreadable response";
/** Retries of a read that found no network or a busy server. */
const RETRIES_MAX = 3;
/** Pause before a retry if the server does not name one; doubles with each retry. */
const PAUSE_MS = 1000;
/** The longest `Retry-After`, in seconds, that a read waits for by itself. */
const RETRY_AFTER_MAX_S = 30;

/** A response that is no success, or no response at all (`status` 0). */
export class RequestError extends Error {
  override readonly name = "RequestError";

  constructor(
    readonly status: number,
    /** The sentence of the server; empty if there is none. */
    readonly description: string,
    readonly fields: FieldError[] = [],
    /** Seconds to wait before the next attempt, of a 429 or 503. */
    readonly retryAfterS: number | null = null,
    readonly requestId: string | null = null,
    /** The reason in few words, which no text of the page depends on. */
    readonly reason: string = "",
  ) {
    super(description === "" ? `status ${status}` : description);
  }

  /** Whether the person did not want to confirm: no message, for they know. */
  isCancelled = false;

  /** The rule that this field breaks. */
  of(field: string): string | null {
    return this.fields.find((error) => error.field === field)?.message ?? null;
  }
}

/** How a request treats a 401: sign in again and repeat, or reject. */
type OnSessionEnd = "signInAgain" | "reject";

interface Options {
  body?: unknown;
  /** The request runs only if the resource still has this ETag; else it rejects with a 412. */
  ifMatch?: string | null | undefined;
  /** The same request with this key runs once. */
  idempotencyKey?: string;
  /** Ends the request. It rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
  onSessionEnd?: OnSessionEnd;
}

/** Data with the ETag of its version, for `ifMatch` of a later change. */
export interface Tagged<T> {
  data: T;
  etag: string | null;
}

/** A page of a list of the API. */
export interface ListPage<T> {
  entries: T[];
  /** Cursor of the next page; `null` on the last one. */
  nextCursor: string | null;
  /** Number of all entries that match. */
  total: number;
  /** Whether there can be more than `total`. */
  isTotalLowerBound: boolean;
}

/**
 * Sends a request below `/dashboard/api` and returns the `data` of its response.
 *
 * Rejects with a `RequestError`. A 412 names no field: the caller shows both versions.
 */
export async function send<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const response = await respond(method, path, options);
  if (response.status === 204) return undefined as T;
  return (await readBody<{ data: T }>(response, options)).data;
}

/** The same with the ETag of the response. */
export async function sendTagged<T>(method: string, path: string, options: Options = {}): Promise<Tagged<T>> {
  const response = await respond(method, path, options);
  const { data } = await readBody<{ data: T }>(response, options);
  return { data, etag: response.headers.get("etag") };
}

/** Reads a page of a list of the API, with the cursor of the next page. */
export async function readList<T>(path: string, options: Options = {}): Promise<ListPage<T>> {
  const response = await respond("GET", path, options);
  const { data, pagination } = await readBody<{ data: T[]; pagination?: Pagination }>(response, options);
  return {
    entries: data,
    nextCursor: nextCursorOf(response.headers.get("link")),
    total: pagination?.totalRecords ?? data.length,
    isTotalLowerBound: pagination?.totalIsLowerBound ?? false,
  };
}

interface Pagination {
  totalRecords: number;
  totalIsLowerBound?: boolean;
}

/** The cursor in the `next` URL of a `Link` header. */
function nextCursorOf(link: string | null): string | null {
  const url = /<([^>]*)>\s*;\s*rel="next"/.exec(link ?? "")?.[1];
  return url === undefined ? null : new URL(url, location.origin).searchParams.get("cursor");
}

/** A response of success. Waits for a sign-in and for a confirmation where one is needed. */
async function respond(method: string, path: string, options: Options): Promise<Response> {
  const { onSessionEnd = "signInAgain" } = options;
  let mayWaitForSignIn = onSessionEnd === "signInAgain";
  let mayWaitForConfirmation = true;
  for (;;) {
    const response = await request(method, path, options);
    if (response.ok) return response;
    const error = await errorOf(response);
    if (error.reason === PERSON_CHANGED) shownPerson.reload();
    if (error.status === 401 && mayWaitForSignIn) {
      mayWaitForSignIn = false;
      if (await sessionEnd.begin()) continue;
    } else if (error.status === 403 && error.reason === CONFIRMATION_NEEDED && mayWaitForConfirmation) {
      mayWaitForConfirmation = false;
      if (await confirmation.begin()) continue;
      error.isCancelled = true;
    }
    throw error;
  }
}

/** The address of an operation that answers with a file: the browser downloads it. */
export function urlOf(path: string): string {
  return BASE + path;
}

/** The path of an operation of the API in this workspace. */
export function inWorkspace(workspaceId: string, path: string): string {
  return `/workspaces/${encodeURIComponent(workspaceId)}${path}`;
}

/** Retries of reads, for react-query. */
export const retryPolicy = {
  retry: (failures: number, error: unknown): boolean => failures < RETRIES_MAX && isTemporary(error),
  retryDelay: (failures: number, error: unknown): number => {
    const named = error instanceof RequestError ? error.retryAfterS : null;
    return named === null ? PAUSE_MS * 2 ** failures : named * 1000;
  },
};

function isTemporary(error: unknown): boolean {
  if (!(error instanceof RequestError) || ![0, 429, 502, 503, 504].includes(error.status)) return false;
  return (error.retryAfterS ?? 0) <= RETRY_AFTER_MAX_S;
}

async function request(method: string, path: string, { body, ifMatch, idempotencyKey, signal }: Options): Promise<Response> {
  const init: RequestInit = {
    method,
    credentials: "same-origin",
    headers: { accept: "application/json", ...shownPerson.header() },
  };
  if (body !== undefined) {
    init.headers = { ...init.headers, "content-type": "application/json" };
    init.body = JSON.stringify(body);
  }
  if (ifMatch) init.headers = { ...init.headers, "if-match": ifMatch };
  if (idempotencyKey !== undefined) init.headers = { ...init.headers, "idempotency-key": idempotencyKey };
  if (signal) init.signal = signal;
  try {
    return await ((method === "GET" ? takeEarlyResponse(path) : undefined) ?? fetch(BASE + path, init));
  } catch {
    signal?.throwIfAborted();
    throw new RequestError(0, "");
  }
}

/** The body of a success. Rejects as without a response if it cannot be read. */
async function readBody<T extends object>(response: Response, { signal }: Options): Promise<T> {
  const body: unknown = await response.json().catch(() => null);
  signal?.throwIfAborted();
  if (typeof body === "object" && body !== null) return body as T;
  throw new RequestError(0, "", [], null, response.headers.get("x-request-id"), UNREADABLE_RESPONSE);
}

async function errorOf(response: Response): Promise<RequestError> {
  const answer: unknown = await response.json().catch(() => null);
  const { description, message, fields } = isErrorAnswer(answer) ? answer.error : { message: "" };
  const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  const isBusy = response.status === 429 || response.status === 503;
  return new RequestError(
    response.status,
    description ?? message ?? "",
    fields ?? [],
    isBusy && Number.isFinite(seconds) ? seconds : null,
    response.headers.get("x-request-id"),
    message ?? "",
  );
}

/** A proxy in front of the server may answer with something else. */
function isErrorAnswer(answer: unknown): answer is { error: Partial<ErrorBody> } {
  return typeof answer === "object" && answer !== null && "error" in answer && typeof answer.error === "object" && answer.error !== null;
}
