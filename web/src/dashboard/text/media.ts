// Text about media that several pages share. The first load has it.

import type { AccessPolicy, FailureCode, Media, MediaStatus, Resolution } from "../api/media-types.js";

const failures: Record<FailureCode, string> = {
  source_unreachable: "source unreachable",
  source_not_found: "source not found",
  source_forbidden_address: "forbidden address",
  source_too_large: "source too large",
  source_timeout: "source too slow",
  not_media: "no media file",
  not_subtitles: "no subtitle file",
  no_audio: "no audio track",
  watermark_not_image: "watermark not readable",
  clip_outside_media: "clip outside media",
  truncated: "file cut off",
  codec_unsupported: "codec not supported",
  resolution_above_max: "resolution too large",
  upload_timed_out: "upload timed out",
  internal: "internal error",
};

const states: Record<MediaStatus, string> = { Created: "Waiting", Downloading: "Fetching", Ready: "Ready", Failed: "Failed" };

export const mediaText = {
  states,
  untitled: "Untitled",
  title: ({ title }: Pick<Media, "title">) => title || "Untitled",
  cutOff: "Cut off",
  noVideo: "No video",
  /** Why it failed, in three words. An unknown code of a later server is shown as it is. */
  failure: (code: string) => failures[code as FailureCode] ?? code.replaceAll("_", " "),
  resolution: (resolution: Resolution) => ({ "2160p": "4K", "4320p": "8K" })[resolution as "2160p"] ?? resolution,
  audio: "Audio",
  policies: { public: "Public", private: "Private" } satisfies Record<AccessPolicy, string>,
};
