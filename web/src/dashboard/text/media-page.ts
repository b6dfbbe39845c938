// Text of the page of a media: its head, player and details.

import type { FailureCode, Media, MediaStatus } from "../api/media-types.js";

/** What to do about a failure, as in `docs/errors.md`. */
const remedies: Record<FailureCode, string> = {
  source_unreachable: "Try the URL from the network of this server, then create the media again.",
  source_not_found: "Check the URL. A signed URL may have expired.",
  source_forbidden_address: "The URL is in a private network. If that is intended, start the server with --allow-private.",
  source_too_large: "Split the file. A source has at most 1 TiB, subtitles and watermarks have at most 10 MiB.",
  source_timeout: "Use a faster server. A source must send at least 64 KiB in 60 seconds.",
  not_media: "Check what the URL responds with.",
  not_subtitles: "Check what the URL responds with. Subtitles are SRT or WebVTT files.",
  no_audio: "Use a file with an audio track.",
  watermark_not_image: "Use a PNG image.",
  clip_outside_media: "Create the media again with other times.",
  truncated: "Upload the whole file.",
  codec_unsupported: "Convert the file to H.264, HEVC or AV1 with AAC or Opus in MP4.",
  resolution_above_max: "Create the media again.",
  upload_timed_out: "Upload the file again.",
  internal: "Create the media again. The log of the server has the cause.",
};

const next: Record<"Created" | "Downloading", string> = {
  Created: "The server fetches the source as soon as a worker is free. It plays here when it is ready.",
  Downloading: "The server fetches the source. It plays here when it is ready.",
};

export const mediaPageText = {
  tabs: {
    label: "This media",
    overview: "Overview",
    playback: "Playback IDs",
    tracks: "Tracks",
    renditions: "Renditions",
    events: "Events",
    code: "Code",
  },
  id: "the media id",
  embed: "Embed",
  download: "Download",
  actions: "More actions",
  notLoaded: "Media",
  missing: "No such media",
  missingLead: "It was deleted, or the address is wrong.",
  toLibrary: "Go to the library",

  player: {
    name: (title: string) => `Player: ${title}`,
    section: "Player",
    loadAgain: "Load the player again",
    noPlaybackId: "The media has no playback ID, so it cannot be played.",
    createPlaybackId: "Create a public playback ID",
    createPrivate: "Create a private playback ID",
    unfinished: (status: MediaStatus) => next[status === "Created" ? "Created" : "Downloading"],
    failedTitle: "This media failed",
    remedy: (code: FailureCode): string | undefined => remedies[code],
    code: (code: string) => `Error code ${code}`,
    setThumbnail: "Use this frame as the thumbnail",
    thumbnailIsAt: (time: string) => `The thumbnail is the frame at ${time}.`,
    thumbnailIsDefault: "The thumbnail is a frame near the middle.",
    resetThumbnail: "Use the default",
    thumbnailSet: (time: string) => `The thumbnail is now the frame at ${time}`,
    thumbnailReset: "The thumbnail is the default again",
  },

  facts: {
    title: "Details",
    edit: "Edit",
    duration: "Duration",
    video: "Video",
    audioOnly: "Audio only",
    size: (width: number, height: number) => `${width} × ${height}`,
    rate: (rate: string) => `${rate} fps`,
    source: "Source",
    sourceUrl: "Source URL",
    upload: "upload",
    sourceMedia: "Clip of",
    maxResolution: "Max. resolution",
    quality: "Quality",
    creator: "Creator ID",
    created: "Created",
    changed: "Changed",
    metadata: "Metadata",
    noMetadata: "No metadata",
    watermark: "Watermark",
    hasWatermark: "Drawn over the video",
    loudness: "Loudness",
    levelling: {
      pending: "Not measured yet",
      levelled: "Levelled",
      unchanged: "At the target already",
      no_audio: "No audio",
      not_measured: "Could not be measured",
    } as Record<NonNullable<NonNullable<Media["playbackReport"]>["optimizeAudio"]>, string>,
    lufs: (before: string, after: string) => `${before} → ${after} LUFS`,
    subtitles: "Subtitles",
  },

  edit: {
    title: "Title",
    creatorId: "Creator ID",
    creatorHint: "An id of your own system.",
    metadata: "Metadata",
    key: (row: number) => `Key ${row}`,
    value: (row: number) => `Value ${row}`,
    keyName: "Key",
    valueName: "Value",
    add: "Add metadata",
    remove: (key: string) => `Remove ${key || "this entry"}`,
    duplicate: (key: string) => `The key ${key} appears twice.`,
    saved: "Details saved",
    request: "The request as curl",
  },

  conflict: {
    title: "Another change came first",
    lead: "Another person or program changed this media after you opened the form. Your text is kept.",
    field: "Field",
    mine: "Yours",
    theirs: "Theirs",
    none: "none",
    keepMine: "Keep mine",
    takeTheirs: "Take theirs",
  },

  leaving: {
    title: "Leave without saving?",
    lead: "Your changes are not saved.",
    stay: "Stay",
    leave: "Leave the page",
  },

  addresses: {
    title: "Addresses",
    hls: "HLS",
    player: "Player page",
    thumbnail: "Thumbnail",
    needsToken: "This playback ID is private: add ?token= with a playback token.",
    all: "All code",
  },

  summaries: {
    rules: "Rules",
    encrypted: "AES-128",
    hasRules: "rules",
    id: (id: string) => `the playback ID ${id.slice(0, 8)}`,
    all: (count: number) => `All ${count}`,
    allEvents: (count: string) => (count === "1" ? "1 event" : `All ${count} events`),
    delivered: (done: number, all: number) => `delivered to ${done} of ${all}`,
  },

  files: {
    title: "Downloads",
    lead: "Files that viewers can download.",
    source: "Source file",
    sourceNames: { off: "Off", on: "On" },
    sourceHint: "The original file.",
    mp4: "MP4 and audio files",
    mp4Names: {
      none: "None",
      capped_4k: "Video (MP4)",
      audioOnly: "Audio (M4A)",
      "audioOnly,capped_4k": "Video and audio",
    },
    mp4Hint: "Files that differ from the source are encoded first.",
    saved: "Downloads saved",
    links: "Links",
    sourceLink: "Source",
    videoLink: "capped-4k.mp4",
    audioLink: "audio.m4a",
    noPublic: "Links need a public playback ID without encryption or rules. With a private one, add ?token= to its address.",
    save: "Save",
  },

  clips: {
    title: "Clips",
    lead: "A clip plays a range of this media. It stores no copy of the bytes.",
    create: "Create a clip",
    start: "Start in seconds",
    end: "End in seconds",
    name: "Title",
    policy: "Policy",
    button: "Create clip",
    done: "Clip created",
    none: "No clips yet.",
    more: (shown: number, total: number) => `The newest ${shown} of ${total}.`,
    open: (duration: string) => `Clip of ${duration}`,
  },

  remove: {
    open: "Delete media",
    title: (title: string) => `Delete “${title}”?`,
    effects: (media: Media) => {
      const ids = media.playbackIds.length;
      const tracks = media.tracks.length;
      return [
        "The file, its renditions, thumbnails and downloads are deleted.",
        ids === 0 ? "It has no playback ID." : `${ids === 1 ? "1 playback ID stops" : `${ids} playback IDs stop`} playing at once.`,
        ...(tracks === 0 ? [] : [`${tracks === 1 ? "1 track is" : `${tracks} tracks are`} deleted.`]),
        "Playlists lose this entry. Clips of it stay.",
        "This cannot be undone.",
      ];
    },
    button: "Delete media",
    done: "Media deleted",
  },
};
