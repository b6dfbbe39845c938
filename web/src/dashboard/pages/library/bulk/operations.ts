// The requests of changes to many media.

import { inWorkspace, readList, RequestError, send, sendTagged } from "../../../api/client.js";
import type { Media } from "../../../api/media-types.js";
import type { Step } from "./run.js";

/** Attempts for a media that another person changes at the same time. */
const ATTEMPTS_MAX = 3;
/** Playlists of one page. */
const PLAYLISTS_MAX = 50;

export interface ListedPlaylist {
  id: string;
  name: string;
  type: "manual" | "smart";
  mediaCount: number;
}

/** Playlists by hand, to which media can be added. */
export async function readPlaylists(workspaceId: string): Promise<ListedPlaylist[]> {
  const playlists: ListedPlaylist[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await readList<ListedPlaylist>(inWorkspace(workspaceId, `/on-demand/playlists?limit=${PLAYLISTS_MAX}${query}`));
    playlists.push(...page.entries);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return playlists.filter(({ type }) => type === "manual");
}

/** Appends all in their order, so it is one request. */
export function addToPlaylist(workspaceId: string, playlistId: string, media: Media[]): Step[] {
  const body = { mediaIds: media.map(({ id }) => id) };
  return [{ media, run: () => send("PATCH", inWorkspace(workspaceId, `/on-demand/playlists/${playlistId}/media`), { body }) }];
}

/** Sets one entry of the metadata, or removes it with `null`. The other entries stay. */
export function setMetadata(workspaceId: string, key: string, value: string | null, media: Media[]): Step[] {
  return each(media, async ({ id }) => {
    const path = inWorkspace(workspaceId, `/on-demand/${id}`);
    for (let attempts = 1; ; attempts += 1) {
      const { data, etag } = await sendTagged<Media>("GET", path);
      const { [key]: _before, ...others } = data.metadata;
      try {
        await send("PATCH", path, { body: { metadata: value === null ? others : { ...others, [key]: value } }, ifMatch: etag });
        return;
      } catch (error) {
        const isChanged = error instanceof RequestError && error.status === 412;
        if (!isChanged || attempts === ATTEMPTS_MAX) throw error;
      }
    }
  });
}

export function setSourceAccess(workspaceId: string, sourceAccess: boolean, media: Media[]): Step[] {
  return each(media, ({ id }) => send("PATCH", inWorkspace(workspaceId, `/on-demand/${id}/source-access`), { body: { sourceAccess } }));
}

/** One that does not exist any more is done. */
export function deleteMedia(workspaceId: string, media: Media[]): Step[] {
  return each(media, async ({ id }) => {
    try {
      await send("DELETE", inWorkspace(workspaceId, `/on-demand/${id}`));
    } catch (error) {
      if (!(error instanceof RequestError) || error.status !== 404) throw error;
    }
  });
}

function each(media: Media[], run: (media: Media) => Promise<unknown>): Step[] {
  return media.map((entry) => ({ media: [entry], run: () => run(entry) }));
}
