// Finds what an id names, or media by the beginning of their titles.

import { inWorkspace, send } from "./client.js";

export type FoundKind = "media" | "playback_id" | "track" | "upload" | "playlist" | "signing_key" | "event";

/** An entry of `GET /find`. */
export interface Found {
  kind: FoundKind;
  id: string;
  /** The media that it belongs to, or the media itself. */
  mediaId: string | null;
  title: string | null;
  state: string | null;
}

/** Whether this is an id. Everything of the API has a UUID. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text.trim());
}

/** `q` is an id of any kind, or the beginning of a title. */
export async function find(workspaceId: string, q: string, signal?: AbortSignal): Promise<Found[]> {
  const query = new URLSearchParams({ q: q.trim() });
  return (await send<{ results: Found[] }>("GET", inWorkspace(workspaceId, `/find?${query}`), { signal })).results;
}

/** The page of what was found; `null` where the dashboard has none. */
export function pageOfFound(workspaceId: string, { kind, mediaId }: Found): string | null {
  const media = mediaId === null ? null : `/w/${workspaceId}/media/${mediaId}`;
  switch (kind) {
    case "media":
      return media;
    case "playback_id":
      return media && `${media}/playback`;
    case "track":
      return media && `${media}/tracks`;
    case "event":
      return media && `${media}/events`;
    case "upload":
      return media ?? `/w/${workspaceId}/uploads`;
    default:
      return null;
  }
}

