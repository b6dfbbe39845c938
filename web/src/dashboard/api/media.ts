// One media: read, changed, deleted, and what belongs to it.

import { type QueryClient, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { inWorkspace, readList, send, sendTagged, type Tagged } from "./client.js";
import { mediaListKey } from "./media-list.js";
import { isUnfinished, type AccessPolicy, type Media, type MediaPlaybackId, type MediaStatus, type Mp4Support, type Track } from "./media-types.js";
import type { Timestamp } from "./types.js";

/** How often what changes by itself is read again, while the page is visible. */
const ASK_EVERY_MS = 5000;
/** Clips of a page of their list. */
const CLIPS_MAX = 50;

/** Names one media. */
export interface MediaRef {
  workspaceId: string;
  id: string;
}

export const mediaKey = ({ workspaceId, id }: MediaRef) => ["workspace", workspaceId, "media", id] as const;

/** The path of an operation of this media. */
export function pathOf({ workspaceId, id }: MediaRef, rest = ""): string {
  return inWorkspace(workspaceId, `/on-demand/${encodeURIComponent(id)}${rest}`);
}

/** The path of an operation that only the dashboard has. */
export function ownPathOf({ workspaceId, id }: MediaRef, rest: string): string {
  return inWorkspace(workspaceId, `/media/${encodeURIComponent(id)}${rest}`);
}

/** The media with its ETag. It is read again while it or a track of it is unfinished. */
export const mediaQuery = (media: MediaRef) =>
  queryOptions({
    queryKey: [...mediaKey(media), "self"],
    queryFn: ({ signal }) => sendTagged<Media>("GET", pathOf(media), { signal }),
    refetchInterval: ({ state: { data } }) => (data && changesByItself(data.data) ? ASK_EVERY_MS : false),
  });

function changesByItself(media: Media): boolean {
  const isMeasured = media.playbackReport?.optimizeAudio === "pending";
  return isUnfinished(media) || isMeasured || media.tracks.some(({ status }) => status === "preparing");
}

/** `GET /on-demand/{mediaId}/input-info`: the file that came in. */
export interface InputInfo {
  configuration: { url: string | null };
  file: { containerFormat: string | null; tracks: Track[] };
}

export const inputInfoQuery = (media: MediaRef) =>
  queryOptions({
    queryKey: [...mediaKey(media), "input info"],
    queryFn: ({ signal }) => send<InputInfo>("GET", pathOf(media, "/input-info"), { signal }),
  });

/** An entry of `GET /on-demand/{mediaId}/media-clips`. */
export interface Clip {
  id: string;
  duration: string;
  status: MediaStatus;
  createdAt: Timestamp;
  playbackIds: Pick<MediaPlaybackId, "id" | "accessPolicy">[];
}

export const clipsQuery = (media: MediaRef) =>
  queryOptions({
    queryKey: [...mediaKey(media), "clips"],
    queryFn: ({ signal }) => readList<Clip>(pathOf(media, `/media-clips?limit=${CLIPS_MAX}`), { signal }),
    refetchInterval: ({ state: { data } }) => (data?.entries.some(isUnfinished) ? ASK_EVERY_MS : false),
  });

/** What a person may write about a media. */
export interface MediaDetails {
  title: string | null;
  creatorId: string | null;
  metadata: Record<string, string>;
}

interface MediaChange extends Partial<MediaDetails> {
  thumbnail?: { time: number } | null;
}

/** Changes a media if it still has this ETag; without one, in any version. */
export function useChangeMedia(media: MediaRef) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, ifMatch }: { body: MediaChange; ifMatch?: string | null }) => sendTagged<Media>("PATCH", pathOf(media), { body, ifMatch }),
    onSuccess: (answer) => keep(client, media, answer),
  });
}

/** The present version, for a change that another one has overtaken. */
export async function readAgain(client: QueryClient, media: MediaRef): Promise<Tagged<Media>> {
  return client.fetchQuery({ ...mediaQuery(media), staleTime: 0 });
}

export function useChangeSourceAccess(media: MediaRef) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (sourceAccess: boolean) => sendTagged<Media>("PATCH", pathOf(media, "/source-access"), { body: { sourceAccess } }),
    onSuccess: (answer) => keep(client, media, answer),
  });
}

export function useChangeMp4Support(media: MediaRef) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (mp4Support: Mp4Support) => sendTagged<Media>("PATCH", pathOf(media, "/update-mp4Support"), { body: { mp4Support } }),
    onSuccess: (answer) => keep(client, media, answer),
  });
}

/** The body that creates a clip of a media. Times are seconds of the media. */
export function clipBody({ id }: MediaRef, fields: { startTime: number; endTime: number; title: string; accessPolicy: AccessPolicy }) {
  const { startTime, endTime, title, accessPolicy } = fields;
  return {
    inputs: [{ type: "video", url: `fp_mediaId://${id}`, startTime, endTime }],
    accessPolicy,
    ...(title.trim() !== "" && { title }),
  };
}

export function useCreateClip(media: MediaRef) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: ReturnType<typeof clipBody>) => send<Media>("POST", inWorkspace(media.workspaceId, "/on-demand"), { body }),
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: clipsQuery(media).queryKey }),
        client.invalidateQueries({ queryKey: mediaListKey(media.workspaceId) }),
      ]),
  });
}

export function useDeleteMedia(media: MediaRef) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => send("DELETE", pathOf(media)),
    onSuccess: () => client.invalidateQueries({ queryKey: mediaListKey(media.workspaceId) }),
  });
}

/** The answer of a change is the present version. */
async function keep(client: QueryClient, media: MediaRef, answer: Tagged<Media>): Promise<void> {
  const { queryKey } = mediaQuery(media);
  await client.cancelQueries({ queryKey });
  client.setQueryData(queryKey, answer);
  const reads = [client.invalidateQueries({ queryKey: mediaListKey(media.workspaceId) })];
  // Without an ETag a later change could not name this version.
  if (answer.etag === null) reads.push(client.invalidateQueries({ queryKey }));
  await Promise.all(reads);
}

/** `POST …/pass`: the address of the player page for 15 minutes. No rule of its playback ID rejects it. */
export interface Pass {
  playbackId: string;
  token: string;
  url: string;
  expiresAt: Timestamp;
}

/** A pass. It is a secret of this page: it leaves the cache with the player. */
export const passQuery = (media: MediaRef, playbackIds: string) =>
  queryOptions({
    queryKey: [...mediaKey(media), "pass", playbackIds],
    queryFn: ({ signal }) => send<Pass>("POST", ownPathOf(media, "/pass"), { body: {}, signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
