// Direct uploads of a workspace. Their signed URLs are secrets: they are in no query cache.

import { type Refusal, NO_ANSWER } from "../../upload/problem.js";
import { ask } from "../../upload/status.js";
import type { UploadSettings } from "../upload/item.js";
import { inWorkspace, readList, RequestError, send } from "./client.js";
import type { Media } from "./media-types.js";

/** An upload as the API sends it, without fields that the page does not show. */
export interface Upload {
  uploadId: string;
  status: "waiting" | "uploading" | "completed" | "cancelled" | "timedout" | "failed";
  /** Signed for people who may upload. */
  url: string;
  corsOrigin: string;
  pushMediaSettings: { title?: string; creatorId?: string };
}

/** An unfinished upload, and how far it is. */
export interface UnfinishedUpload extends Omit<Upload, "url"> {
  createdAt: Date | null;
  /** `null` for those who may not upload. */
  keptBytes: number | null;
  /** Size of the file, once a client has sent it. */
  sizeBytes: number | null;
}

/** Seconds without data after which an upload ends: 7 days, so a closed laptop can go on. */
const TIMEOUT_S = 7 * 24 * 60 * 60;
const PAGE_LENGTH = 50;
/** Pages of unfinished uploads that are searched for one. */
const PAGES_MAX = 40;
/** Uploads for which the page asks how far they are. */
const ASKED_MAX = 20;

/** The body of `POST /on-demand/upload`. The page that sends is the only one that may. */
export function createBody({ title, accessPolicy, maxResolution, metadata }: UploadSettings) {
  return {
    corsOrigin: location.origin,
    timeout: TIMEOUT_S,
    pushMediaSettings: { ...(title !== "" && { title }), accessPolicy, maxResolution, metadata },
  };
}

/** Creates an upload. The same key creates it once. */
export function createUpload(workspaceId: string, settings: UploadSettings, idempotencyKey: string): Promise<Upload> {
  return send<Upload>("POST", inWorkspace(workspaceId, "/on-demand/upload"), { body: createBody(settings), idempotencyKey });
}

export function cancelUpload(workspaceId: string, uploadId: string): Promise<unknown> {
  return send("PUT", inWorkspace(workspaceId, `/on-demand/upload/${encodeURIComponent(uploadId)}/cancel`));
}

/** The signed URL of an unfinished upload; `null` if there is none with this id. */
export async function findUploadUrl(workspaceId: string, uploadId: string): Promise<string | null> {
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const found: Awaited<ReturnType<typeof readUploads>> = await readUploads(workspaceId, cursor);
    const upload = found.entries.find((upload) => upload.uploadId === uploadId);
    if (upload !== undefined) return upload.url;
    cursor = found.nextCursor;
    if (cursor === null) break;
  }
  return null;
}

/** The media of an upload; `null` if it was deleted or has never been created. */
export async function readUploadedMedia(workspaceId: string, uploadId: string): Promise<Media | null> {
  try {
    return await send<Media>("GET", inWorkspace(workspaceId, `/on-demand/${encodeURIComponent(uploadId)}`), { onSessionEnd: "reject" });
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return null;
    throw error;
  }
}

/**
 * The newest unfinished uploads of a workspace, and whether there are more. `maySend` is whether their URLs
 * are signed.
 */
export async function readUnfinished(workspaceId: string, maySend: boolean): Promise<{ uploads: UnfinishedUpload[]; isCut: boolean }> {
  const { entries: listed, total } = await readUploads(workspaceId, null);
  // The list also has uploads that have failed or were cancelled.
  const entries = listed.filter(({ status }) => status === "waiting" || status === "uploading");
  const asked = maySend ? entries.slice(0, ASKED_MAX) : [];
  const answers = new Map(await Promise.all(asked.map(async ({ uploadId, url }) => [uploadId, await ask(url)] as const)));
  const uploads = entries.map(({ url: _, ...upload }) => {
    const answer = answers.get(upload.uploadId);
    const status = answer && "status" in answer ? answer.status : null;
    return { ...upload, createdAt: timeOf(upload.uploadId), keptBytes: status?.keptBytes ?? null, sizeBytes: status?.sizeBytes ?? null };
  });
  return { uploads, isCut: total > listed.length };
}

/** What an error of the API means for an upload. */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof RequestError)) throw error;
  if (error.status === 0) return NO_ANSWER;
  const rules = error.fields.map(({ field, message }) => `${field} ${message}`).join("; ");
  const retryAfter = error.retryAfterS === null ? null : String(error.retryAfterS);
  return { status: error.status, retryAfter, description: rules || error.description, isBehind: false };
}

function readUploads(workspaceId: string, cursor: string | null) {
  const query = new URLSearchParams({ limit: String(PAGE_LENGTH), ...(cursor !== null && { cursor }) });
  return readList<Upload>(inWorkspace(workspaceId, `/on-demand/uploads?${query}`));
}

/** The time in an id: UUID v7 (RFC 9562, 5.7). */
function timeOf(id: string): Date | null {
  const ms = Number.parseInt(id.replace("-", "").slice(0, 12), 16);
  return Number.isNaN(ms) ? null : new Date(ms);
}
