// The audit log, newest entries first, in pages.

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { send, urlOf } from "./client.js";
import type { Timestamp } from "./types.js";
import type { AuditPage } from "./types-organisation.js";

/** Filters by their names in addresses, here and at the server. */
export interface AuditFilter {
  /** An action, or a group such as `person`. */
  action?: string;
  /** The ID of a person or token, or the kind of another actor. */
  actor?: string;
  /** The ID of an object. */
  object?: string;
  from?: Timestamp;
  /** Exclusive. */
  to?: Timestamp;
}

/** How often the server is asked for newer entries. */
const ASK_EVERY_MS = 30_000;

/** It is never read again by itself: new rows would move those that are read. */
export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam }) => send<AuditPage>("GET", `/audit${queryOf(filter, pageParam === null ? {} : { cursor: pageParam })}`),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });

/** The ID of the newest entry, `null` without one. IDs are in the order of time. */
export const newestAuditQuery = (filter: AuditFilter) =>
  queryOptions({
    queryKey: ["audit newest", filter],
    queryFn: async () => (await send<AuditPage>("GET", `/audit${queryOf(filter, { limit: "1" })}`)).entries[0]?.id ?? null,
    refetchInterval: ASK_EVERY_MS,
    gcTime: 0,
  });

/** The address of the file with all entries that match. The browser downloads it. */
export function auditFile(filter: AuditFilter): string {
  return urlOf(`/audit.jsonl${queryOf(filter)}`);
}

function queryOf(filter: AuditFilter, paging: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...filter, ...paging }).toString();
  return query === "" ? "" : `?${query}`;
}
