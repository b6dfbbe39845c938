// The media that the library shows: pages of a list, kept up to date without moving what is looked at.

import { useEffect, useMemo, useState } from "react";
import { keepPreviousData, type InfiniteData, type QueryClient, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { inWorkspace, type ListPage, RequestError, send } from "../../api/client.js";
import { type MediaFilter, mediaListQuery, newestMediaQuery, PAGE_LENGTH } from "../../api/media-list.js";
import { isUnfinished, type Media } from "../../api/media-types.js";

/** How often unfinished media are asked for. */
const UNFINISHED_MS = 5000;
/** How often the server is asked for new media. */
const NEWEST_MS = 30_000;
/** Media that are asked for one by one: unfinished below the first page, and those that it has no more. */
const ASKED_MAX = 24;
/** How long the pages stay after the library was left: "back" shows them at once. */
const KEPT_MS = 30 * 60_000;

type Pages = InfiniteData<ListPage<Media>, string | null>;

export function useLibrary(workspaceId: string, filter: MediaFilter) {
  const client = useQueryClient();
  const query = useMemo(() => mediaListQuery(workspaceId, filter), [workspaceId, filter]);
  const list = useInfiniteQuery({ ...query, gcTime: KEPT_MS, placeholderData: keepPreviousData });
  const media = useMemo(() => list.data?.pages.flatMap(({ entries }) => entries), [list.data]);
  const isShown = list.isSuccess && !list.isPlaceholderData;
  const unfinished = media?.filter(isUnfinished) ?? [];

  const newest = useQuery({
    ...newestMediaQuery(workspaceId, filter),
    enabled: isShown,
    staleTime: UNFINISHED_MS,
    gcTime: 0,
    refetchInterval: unfinished.length > 0 ? UNFINISHED_MS : NEWEST_MS,
  });
  useEffect(() => {
    if (newest.data) update(client, query.queryKey, newest.data.entries, []);
  }, [client, query, newest.data]);

  const inNewest = new Set(newest.data?.entries.map(({ id }) => id));
  const missing = newest.data === undefined ? [] : missingFrom(media ?? [], newest.data);
  const others = [...new Set([...missing, ...unfinished])].filter(({ id }) => !inNewest.has(id)).slice(0, ASKED_MAX).map(({ id }) => id);
  const asked = useQuery({
    queryKey: ["workspace", workspaceId, "unfinished media", others],
    queryFn: () => readEach(workspaceId, others),
    enabled: isShown && newest.data !== undefined && others.length > 0,
    refetchInterval: UNFINISHED_MS,
    gcTime: 0,
  });
  useEffect(() => {
    if (asked.data) update(client, query.queryKey, asked.data.found, asked.data.gone);
  }, [client, query, asked.data]);

  const shownIds = useMemo(() => new Set(media?.map(({ id }) => id)), [media]);
  const waiting = isShown ? newerThan(newest.data?.entries ?? [], shownIds) : [];
  /** Whether there are more new ones than the first page of the server has. */
  const isMoreWaiting = waiting.length >= PAGE_LENGTH;
  const showNew = () => {
    const first = newest.data;
    if (first === undefined) return;
    client.setQueryData<Pages>(query.queryKey, (data) => {
      if (data === undefined || isMoreWaiting) return { pages: [first], pageParams: [null] };
      const [top, ...rest] = data.pages;
      const pages = top === undefined ? [first] : [{ ...top, entries: [...waiting, ...top.entries], total: first.total }, ...rest];
      return { ...data, pages };
    });
  };
  const remove = (ids: Set<string>) => {
    update(client, query.queryKey, [], [...ids]);
    client.setQueryData(newestMediaQuery(workspaceId, filter).queryKey, (page) => page && { ...page, entries: page.entries.filter(({ id }) => !ids.has(id)) });
  };
  /** After a change by this page. */
  const refresh = () => newest.refetch();
  const latest = newest.data ?? list.data?.pages[0];
  return { list, media, total: latest?.total ?? 0, isTotalLowerBound: latest?.isTotalLowerBound ?? false, waiting: waiting.length, isMoreWaiting, showNew, remove, refresh };
}

/** The entries in front of the first one that is shown. */
function newerThan(entries: Media[], shownIds: Set<string>): Media[] {
  const first = entries.findIndex(({ id }) => shownIds.has(id));
  return first === -1 ? entries : entries.slice(0, first);
}

/** Shown media that should be on the first page and are not: deleted, or no filter matches them any more. */
function missingFrom(shown: Media[], { entries, nextCursor }: ListPage<Media>): Media[] {
  const fresh = new Set(entries.map(({ id }) => id));
  const end = nextCursor === null ? "" : (entries.at(-1)?.createdAt ?? "");
  return shown.filter(({ id, createdAt }) => createdAt > end && !fresh.has(id));
}

/** Puts newer versions in the place of older ones. Entries that did not change stay the same objects. */
function update(client: QueryClient, queryKey: readonly unknown[], fresh: Media[], gone: string[]): void {
  const versions = new Map(fresh.map((media) => [media.id, media]));
  client.setQueryData<Pages>(queryKey, (data) => {
    if (data === undefined) return undefined;
    let hasChanged = false;
    const pages = data.pages.map((page) => {
      const entries = page.entries.flatMap((media) => {
        if (gone.includes(media.id)) return [];
        const next = versions.get(media.id);
        return next !== undefined && !isSame(media, next) ? [next] : [media];
      });
      if (entries.length === page.entries.length && entries.every((media, place) => media === page.entries[place])) return page;
      hasChanged = true;
      return { ...page, entries };
    });
    return hasChanged ? { ...data, pages } : data;
  });
}

function isSame(before: Media, after: Media): boolean {
  return before === after || JSON.stringify(before) === JSON.stringify(after);
}

/** These media one by one: those that no filter matches any more have a new state too. */
async function readEach(workspaceId: string, ids: string[]): Promise<{ found: Media[]; gone: string[] }> {
  const found: Media[] = [];
  const gone: string[] = [];
  const read = async (id: string) => {
    try {
      found.push(await send<Media>("GET", inWorkspace(workspaceId, `/on-demand/${id}`)));
    } catch (error) {
      if (!(error instanceof RequestError) || error.status !== 404) throw error;
      gone.push(id);
    }
  };
  await Promise.all(ids.map(read));
  return { found, gone };
}

/** Whether the list may move: it is at its top, and neither pointer nor focus is in it. */
export function useMayMove(list: { current: HTMLElement | null }): () => boolean {
  const [mayMove] = useState(() => () => {
    const element = list.current;
    if (scrollY > 8 || document.querySelector("dialog[open]") !== null) return false;
    return element === null || !(element.matches(":hover") || element.contains(document.activeElement));
  });
  return mayMove;
}
