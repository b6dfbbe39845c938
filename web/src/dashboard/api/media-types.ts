// Media as the API sends them.

import type { Timestamp } from "./types.js";

export type MediaStatus = "Created" | "Downloading" | "Ready" | "Failed";
export type Resolution = "240p" | "360p" | "480p" | "720p" | "1080p" | "1440p" | "2160p" | "4320p";
export type MaxResolution = Exclude<Resolution, "240p" | "4320p">;
export type AccessPolicy = "public" | "private";
export type Mp4Support = "none" | "capped_4k" | "audioOnly" | "audioOnly,capped_4k";
export type TrackType = "video" | "audio" | "subtitle";

export type FailureCode =
  | "source_unreachable"
  | "source_not_found"
  | "source_forbidden_address"
  | "source_too_large"
  | "source_timeout"
  | "not_media"
  | "not_subtitles"
  | "no_audio"
  | "watermark_not_image"
  | "clip_outside_media"
  | "truncated"
  | "codec_unsupported"
  | "resolution_above_max"
  | "upload_timed_out"
  | "internal";

/** Why a media or a track failed. */
export interface Failure {
  code: FailureCode;
  message: string;
}

/** A rule of a playback ID: an entry on the lists, else the default. */
export interface AccessRule {
  defaultPolicy: "allow" | "deny";
  allow: string[];
  deny: string[];
}

export interface AccessRestrictions {
  domains: AccessRule;
  userAgents: AccessRule;
}

/** A playback ID of a media. */
export interface MediaPlaybackId {
  id: string;
  accessPolicy: AccessPolicy;
  accessRestrictions: AccessRestrictions;
  encryption?: "aes-128";
}

/** Whether a playback ID may reject a player. */
export function hasRules({ accessRestrictions: { domains, userAgents } }: MediaPlaybackId): boolean {
  return [domains, userAgents].some(({ defaultPolicy, deny }) => defaultPolicy === "deny" || deny.length > 0);
}

export interface Track {
  id: string;
  type: TrackType;
  status: "preparing" | "available" | "failed";
  width?: number;
  height?: number;
  frameRate?: string;
  languageCode?: string;
  languageName?: string;
  error?: Failure;
}

export interface OfferedRendition {
  name: string;
  type: TrackType;
  method: "copied" | "encoded";
  resolution?: Resolution;
  trackId: string;
}

export type NotCopiedReason =
  | "codec"
  | "pixel_format"
  | "interlaced"
  | "open_gop"
  | "long_gop"
  | "edits"
  | "timing"
  | "format_changes"
  | "too_large"
  | "watermark"
  | "above_max_resolution"
  | "does_not_decode"
  | "levelled";

export interface NotCopied {
  type: TrackType;
  trackId: string;
  reason: NotCopiedReason;
  detail: string;
}

/** What players are offered, and why it is not all a copy. */
export interface PlaybackReport {
  renditions: OfferedRendition[];
  notCopied?: NotCopied[];
  leftOut?: { type: TrackType; detail: string }[];
  /** Names of encoded renditions whose encoding failed. */
  broken?: string[];
  copy?: "does_not_decode";
  source?: "truncated";
  optimizeAudio?: "pending" | "levelled" | "unchanged" | "no_audio" | "not_measured";
}

/** `GET /on-demand/{mediaId}`, and an entry of `GET /on-demand`. */
export interface Media {
  id: string;
  workspaceId: string;
  title: string | null;
  status: MediaStatus;
  /** Of a failed media. */
  error?: Failure;
  creatorId?: string;
  metadata: Record<string, string>;
  /** `hh:mm:ss`; `00:00:00` until it is known. */
  duration: string;
  aspectRatio: string | null;
  frameRate?: string;
  isAudioOnly: boolean;
  subtitleAvailable: boolean;
  sourceAccess: boolean;
  sourceMediaId?: string;
  sourceResolution: Resolution | null;
  maxResolution: MaxResolution;
  mediaQuality: "standard" | "pro" | "premium";
  mp4Support?: Mp4Support;
  playbackIds: MediaPlaybackId[];
  tracks: Track[];
  playbackReport?: PlaybackReport;
  loudness?: { target: number; tracks: ({ integrated?: number } | null)[] };
  thumbnail: string | null;
  /** Seconds. */
  thumbnailTime?: number;
  blurHash?: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
}

/** Whether the media still changes by itself. */
export function isUnfinished({ status }: Pick<Media, "status">): boolean {
  return status === "Created" || status === "Downloading";
}
