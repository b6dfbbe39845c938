// The playback IDs of a media and their rules.

import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { RequestError, send } from "./client.js";
import { type MediaRef, mediaKey, ownPathOf, pathOf } from "./media.js";
import type { AccessPolicy, AccessRestrictions, AccessRule, MaxResolution, MediaPlaybackId, Resolution } from "./media-types.js";

/** A playback ID with the largest resolution that it plays. */
export interface PlaybackId extends MediaPlaybackId {
  resolution?: Resolution;
}

export const playbackIdsQuery = (media: MediaRef) =>
  queryOptions({
    queryKey: [...mediaKey(media), "playback ids"],
    queryFn: ({ signal }) => send<PlaybackId[]>("GET", pathOf(media, "/playback-ids"), { signal }),
  });

export interface NewPlaybackId {
  accessPolicy: AccessPolicy;
  resolution?: Exclude<MaxResolution, "360p">;
  encryption?: "aes-128";
  accessRestrictions?: AccessRestrictions;
}

export function useCreatePlaybackId(media: MediaRef) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewPlaybackId) => send<PlaybackId>("POST", pathOf(media, "/playback-ids"), { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: mediaKey(media) }),
  });
}

export function useDeletePlaybackId(media: MediaRef) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => send("DELETE", pathOf(media, `/playback-ids?playbackId=${encodeURIComponent(id)}`)),
    onSettled: () => client.invalidateQueries({ queryKey: mediaKey(media) }),
  });
}

export type RuleKind = keyof AccessRestrictions;

/** Paths of the rules at the API. */
export const RULE_PATHS: Record<RuleKind, string> = { domains: "domains", userAgents: "user-agents" };

/** Replaces rules of a playback ID, one request for each kind. Errors name the kind before the field. */
export function useChangeRules(media: MediaRef, id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (rules: Partial<AccessRestrictions>) => {
      for (const kind of Object.keys(rules) as RuleKind[]) {
        const path = pathOf(media, `/playback-ids/${encodeURIComponent(id)}/${RULE_PATHS[kind]}`);
        await send<AccessRule>("PATCH", path, { body: rules[kind] }).catch((error: unknown) => {
          throw error instanceof RequestError ? within(kind, error) : error;
        });
      }
    },
    onSettled: () => client.invalidateQueries({ queryKey: mediaKey(media) }),
  });
}

function within(kind: RuleKind, { status, description, fields, retryAfterS, requestId, reason }: RequestError): RequestError {
  const named = fields.map(({ field, message }) => ({ field: `${kind}.${field}`, message }));
  return new RequestError(status, description, named, retryAfterS, requestId, reason);
}

/** `POST …/check`: whether a viewer with a valid token may play. */
export interface RuleCheck {
  isAllowed: boolean;
  rejectedBy: RuleKind | null;
  message: string;
}

/** Judges a page and a user agent by these rules. It changes nothing. */
export function useCheckRules(media: MediaRef, id: string) {
  return useMutation({
    mutationFn: (body: { page: string | null; userAgent: string | null; accessRestrictions: AccessRestrictions }) =>
      send<RuleCheck>("POST", ownPathOf(media, `/playback-ids/${encodeURIComponent(id)}/check`), { body }),
  });
}
