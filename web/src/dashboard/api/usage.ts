// How much a workspace uses.

import { queryOptions } from "@tanstack/react-query";
import { inWorkspace, send } from "./client.js";
import type { Timestamp } from "./types.js";

/** The server measures the storage each hour. */
const FRESH_MS = 10 * 60_000;

/** What `GET /usage` says of the storage. */
interface Usage {
  /** Of the last measurement; `null` before the first. */
  asOf: Timestamp | null;
  totals: { storedBytes: number };
}

/** Stored bytes of a workspace; `null` before they are measured. A new server has measured 0. */
export const storedBytesQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["workspace", workspaceId, "stored bytes"],
    queryFn: ({ signal }) => send<Usage>("GET", inWorkspace(workspaceId, "/usage"), { signal }),
    select: ({ asOf, totals }) => (asOf === null || totals.storedBytes === 0 ? null : totals.storedBytes),
    staleTime: FRESH_MS,
  });
