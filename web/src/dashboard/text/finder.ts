// Text of the finder. A chunk of its own loads it.

import type { FoundKind } from "../api/find.js";

const kinds: Record<FoundKind, string> = {
  media: "Media",
  playback_id: "Playback ID",
  track: "Track",
  upload: "Upload",
  playlist: "Playlist",
  signing_key: "Signing key",
  event: "Event",
};

export const finderText = {
  title: "Find anything",
  placeholder: "A page, an action, an id, or the beginning of a title",
  results: "Results",
  found: "In this workspace",
  actions: "Actions",
  pages: "Pages",
  kinds,
  upload: "Upload files",
  looking: "Looking",
  nothing: "Nothing found. Titles are found by their beginning, ids as a whole.",
  count: (count: number) => (count === 1 ? "1 result" : `${count} results`),
};
