// The state of a media in words and a colour.

import { isUnfinished, type Media } from "../api/media-types.js";
import { mediaText } from "../text/media.js";
import { bytesOf } from "./bytes.js";
import { State, type Tone } from "./state.js";

export interface Progress {
  bytes: number;
  bytesTotal: number;
}

interface Props {
  media: Pick<Media, "status" | "error" | "playbackReport">;
  /** How far the bytes are here, where it is known. */
  progress?: Progress | undefined;
}

/** The state with what is known about it: "Fetching 1.9 of 3.1 GB", "Failed: no media file". */
export function MediaState({ media, progress }: Props) {
  const { tone, word, detail } = stateOf(media, progress);
  return <State tone={tone}>{detail === null ? word : media.status === "Failed" ? `${word}: ${detail}` : `${word} ${detail}`}</State>;
}

/** The parts of it: for places with a line for each. */
export function stateOf({ status, error, playbackReport }: Props["media"], progress?: Progress): { tone: Tone; word: string; detail: string | null } {
  const word = mediaText.states[status] ?? status;
  if (status === "Failed") return { tone: "bad", word, detail: error ? mediaText.failure(error.code) : null };
  if (isUnfinished({ status })) return { tone: "busy", word, detail: progress ? bytesOf(progress.bytes, progress.bytesTotal) : null };
  if (playbackReport?.source === "truncated") return { tone: "warn", word: mediaText.cutOff, detail: null };
  if (playbackReport?.copy === "does_not_decode") return { tone: "warn", word: mediaText.noVideo, detail: null };
  return { tone: "ok", word, detail: null };
}
