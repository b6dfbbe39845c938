// Lists of media, newest first, in pages by cursor.

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { inWorkspace, readList } from "./client.js";
import type { Media, MediaStatus } from "./media-types.js";
import type { Timestamp } from "./types.js";

/** Entries of a page. The API allows 50. */
export const PAGE_LENGTH = 48;

/** What a media has to match. All of it is part of the query of the API. */
export interface MediaFilter {
  status?: MediaStatus;
  /** Beginning of the title. */
  title?: string;
  creatorId?: string;
  /** Keys with their values; an empty value stands for any. The API accepts one such key. */
  metadata?: Record<string, string>;
  from?: Timestamp;
  /** Exclusive. */
  to?: Timestamp;
}

/** Keys of all queries of lists of media in a workspace, to mark them as old. */
export const mediaListKey = (workspaceId: string) => ["workspace", workspaceId, "media list"] as const;

/** The media that match. It is not read again by itself: new media would move those that are looked at. */
export const mediaListQuery = (workspaceId: string, filter: MediaFilter) =>
  infiniteQueryOptions({
    queryKey: [...mediaListKey(workspaceId), filter],
    queryFn: async ({ client, pageParam, signal }) => {
      const page = await readMediaPage(workspaceId, filter, pageParam, signal);
      if (pageParam === null) client.setQueryData(newestMediaQuery(workspaceId, filter).queryKey, page);
      return page;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The first page alone, to learn of new media. */
export const newestMediaQuery = (workspaceId: string, filter: MediaFilter) =>
  queryOptions({
    queryKey: ["workspace", workspaceId, "newest media", filter],
    queryFn: ({ signal }) => readMediaPage(workspaceId, filter, null, signal),
  });

export function readMediaPage(workspaceId: string, filter: MediaFilter, cursor: string | null, signal?: AbortSignal) {
  return readList<Media>(inWorkspace(workspaceId, `/on-demand?${queryOf(filter, cursor)}`), { signal });
}

/** The query of `GET /on-demand`. */
export function queryOf(filter: MediaFilter, cursor: string | null = null): string {
  const query = new URLSearchParams({ limit: String(PAGE_LENGTH) });
  const set = (name: string, value: string | undefined) => value !== undefined && query.set(name, value);
  set("status", filter.status);
  set("title", filter.title);
  set("creatorId", filter.creatorId);
  set("createdAfter", filter.from);
  set("createdBefore", filter.to);
  for (const [key, value] of Object.entries(filter.metadata ?? {})) {
    if (value === "") query.set("metadataKey", key);
    else query.set(`metadata[${key}]`, value);
  }
  if (cursor !== null) query.set("cursor", cursor);
  return query.toString();
}
