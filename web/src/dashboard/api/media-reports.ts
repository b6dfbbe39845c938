// What the server knows about a media beyond the API: how much of it is encoded, and its events.

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { send } from "./client.js";
import { type MediaRef, mediaKey, ownPathOf } from "./media.js";
import type { PlaybackReport, Resolution } from "./media-types.js";
import type { Timestamp } from "./types.js";

/** How often deliveries with a next attempt are read again, and renditions while they grow. */
const ASK_EVERY_MS = 5000;
/** How long after playback renditions may grow. */
const WATCHED_FOR_MS = 120_000;
/** How often they are read again while nothing is known to change: for new events, and for new viewers. */
const ASK_FOR_NEW_EVERY_MS = 30_000;

/** `GET …/renditions`. */
export interface Renditions {
  /** `null` until the media is ready. */
  playbackReport: PlaybackReport | null;
  renditions: Rendition[];
}

export interface Rendition {
  name: string;
  /** `download`: an encoded file that players are not offered. */
  type: "video" | "audio" | "download";
  method: "copied" | "encoded";
  resolution: Resolution | null;
  /** Of an encoded one. */
  segmentsMade: number | null;
  /** `null` if it has none, or if the number is not known now. */
  segments: number | null;
  bytes: number | null;
  lastWatchedAt: Timestamp | null;
  /** It could not be encoded and is not offered. */
  isBroken: boolean;
}

export const renditionsQuery = (media: MediaRef) =>
  queryOptions({
    queryKey: [...mediaKey(media), "renditions"],
    queryFn: ({ signal }) => send<Renditions>("GET", ownPathOf(media, "/renditions"), { signal }),
    refetchInterval: ({ state: { data } }) => (data?.renditions.some(isGrowing) ? ASK_EVERY_MS : ASK_FOR_NEW_EVERY_MS),
    refetchOnWindowFocus: "always",
  });

/** Whether segments of it may be encoded now: a viewer watched it a short while ago, and some are missing. */
function isGrowing({ segmentsMade, segments, lastWatchedAt, isBroken }: Rendition): boolean {
  if (isBroken || segmentsMade === null || lastWatchedAt === null || segmentsMade === segments) return false;
  return Date.now() - Date.parse(lastWatchedAt) < WATCHED_FOR_MS;
}

/** A page of `GET …/events`, newest first. */
export interface EventPage {
  events: MediaEvent[];
  nextCursor: string | null;
}

export interface MediaEvent {
  id: string;
  /** Such as `video.media.ready`. */
  type: string;
  at: Timestamp;
  /** The body that webhooks get; `null` if a newer version of the server wrote it. */
  data: unknown;
  deliveries: Delivery[];
}

export type DeliveryState = "waiting" | "retrying" | "delivered" | "failed";

export interface Delivery {
  id: string;
  webhook: { id: string; url: string } | null;
  state: DeliveryState;
  attempts: number;
  /** Status of the last attempt; `null` without a response. */
  lastStatus: number | null;
  lastError: string | null;
  lastAttemptAt: Timestamp | null;
  /** `null` if none will follow, or if the webhook is disabled. */
  nextAttemptAt: Timestamp | null;
}

export const eventsQuery = (media: MediaRef) =>
  infiniteQueryOptions({
    queryKey: [...mediaKey(media), "events"],
    queryFn: ({ pageParam, signal }) =>
      send<EventPage>("GET", ownPathOf(media, `/events${pageParam === null ? "" : `?cursor=${encodeURIComponent(pageParam)}`}`), { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: ({ state: { data } }) => {
      const isAttempted = data?.pages.some(({ events }) => events.some(({ deliveries }) => deliveries.some(willBeAttempted)));
      return isAttempted ? ASK_EVERY_MS : ASK_FOR_NEW_EVERY_MS;
    },
  });

/** How many events these pages have: "12", or "50+" if more follow. */
export function eventCount(pages: EventPage[]): string {
  const count = pages.reduce((sum, { events }) => sum + events.length, 0);
  return `${count}${pages.at(-1)?.nextCursor == null ? "" : "+"}`;
}

function willBeAttempted({ state, nextAttemptAt }: Delivery): boolean {
  return (state === "waiting" || state === "retrying") && nextAttemptAt !== null;
}
