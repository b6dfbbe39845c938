// The tracks that were added to a media: subtitles and audio.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { send } from "./client.js";
import { type MediaRef, mediaKey, pathOf } from "./media.js";

export interface NewTrack {
  type: "subtitle" | "audio";
  url: string;
  /** A language tag such as `en-US`. */
  languageCode: string;
  /** The name that players show. */
  languageName: string;
}

export function useAddTrack(media: MediaRef) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (track: NewTrack) => send("POST", pathOf(media, "/tracks"), { body: { tracks: track } }),
    onSuccess: () => client.invalidateQueries({ queryKey: mediaKey(media) }),
  });
}

/** Changes a track. With a `url` its file is replaced. */
export function useChangeTrack(media: MediaRef) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, ...body }: Partial<Omit<NewTrack, "type">> & { id: string }) => send("PATCH", trackPath(media, id), { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: mediaKey(media) }),
  });
}

export function useDeleteTrack(media: MediaRef) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => send("DELETE", trackPath(media, id)),
    onSettled: () => client.invalidateQueries({ queryKey: mediaKey(media) }),
  });
}

function trackPath(media: MediaRef, id: string): string {
  return pathOf(media, `/tracks/${encodeURIComponent(id)}`);
}
