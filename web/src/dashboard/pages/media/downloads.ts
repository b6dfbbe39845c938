// Files of a media that viewers can download.

import { hasRules, type Media } from "../../api/media-types.js";
import { mediaPageText } from "../../text/media-page.js";
import { addressesOf } from "./requests.js";

const words = mediaPageText.files;

/** The files that are switched on, the best one first. They exist once the media is ready. */
export function filesOf({ sourceAccess, mp4Support = "none" }: Media): { name: string; file: string }[] {
  return [
    ...(sourceAccess ? [{ name: words.sourceLink, file: "source" }] : []),
    ...(mp4Support.includes("capped_4k") ? [{ name: words.videoLink, file: "capped-4k.mp4" }] : []),
    ...(mp4Support.includes("audioOnly") ? [{ name: words.audioLink, file: "audio.m4a" }] : []),
  ];
}

/**
 * The address of a file below the first playback ID that admits each browser; `null` without one. The
 * dashboard sends no referrer, so that rules for domains may reject it.
 */
export function addressOf(media: Media, publicUrl: string, file: string): string | null {
  const playbackId = media.playbackIds.find((one) => one.accessPolicy === "public" && one.encryption === undefined && !hasRules(one));
  return playbackId === undefined ? null : addressesOf(publicUrl, playbackId.id, false).file(file);
}
