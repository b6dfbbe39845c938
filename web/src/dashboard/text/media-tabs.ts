// Text of the tabs of a media. Their chunks load it.

import type { RuleKind } from "../api/playback-ids.js";
import type { DeliveryState } from "../api/media-reports.js";
import type { NotCopiedReason, TrackType } from "../api/media-types.js";

const trackTypes: Record<TrackType, string> = { video: "Video", audio: "Audio", subtitle: "Subtitles" };

/** Causes and sources that are copied, as in `docs/playback-report.md`. */
const reasons: Record<NotCopiedReason, { cause: string; instead: string }> = {
  codec: { cause: "Browsers do not decode this codec, or not all browsers do.", instead: "a source with H.264, HEVC or AV1 and AAC" },
  pixel_format: { cause: "It has more bits or finer chroma than players decode.", instead: "a source with 8-bit 4:2:0" },
  interlaced: { cause: "It has two fields in one frame.", instead: "progressive video" },
  open_gop: { cause: "Frames after a keyframe reference frames before it, so playback cannot start there.", instead: "a source with closed GOPs" },
  long_gop: { cause: "It has over 20 s without a keyframe, or no keyframe at the beginning.", instead: "a source with a keyframe every 2 s" },
  edits: { cause: "An edit list or an edit does not fit the keyframes of the source.", instead: "a source whose edits are rendered; for a clip, a start at a keyframe" },
  timing: { cause: "Timestamps are missing, jump or go backwards.", instead: "a source with timestamps that only increase" },
  format_changes: { cause: "Frame size or codec changes within the file.", instead: "a source with one size and codec" },
  too_large: { cause: "Level, size or frame rate is beyond players.", instead: "a source of at most H.264 level 5.1" },
  watermark: { cause: "A watermark is drawn over the video.", instead: "a media without a watermark" },
  above_max_resolution: { cause: "It is larger than the maximum resolution of the media.", instead: "a media with a higher maximum resolution" },
  does_not_decode: { cause: "No frame could be decoded.", instead: "an intact file" },
  levelled: { cause: "The audio plays with the gain that levels it.", instead: "audio within 0.5 LU of the target, or no levelling" },
};

const count = (number: number, one: string, many: string): string => `${number.toLocaleString("en-GB")} ${number === 1 ? one : many}`;

export const playbackText = {
  title: "Playback IDs",
  lead: "A playback ID is the public identifier of this media. It has its own policy, limits and rules.",
  add: "Create playback ID",
  empty: "No playback IDs",
  emptyLead: "Without one, the media cannot be played.",
  policy: "Policy",
  policyHints: {
    public: "The playback ID is enough to play.",
    private: "Playback needs a token that your server signs with a signing key.",
  },
  resolution: "Max. resolution",
  anyResolution: "As the media",
  upTo: (resolution: string) => `up to ${resolution}`,
  encryption: "Encryption",
  encryptions: { none: "None", "aes-128": "AES-128" },
  encryptionHint: "AES-128 encrypts each segment. It is no DRM, it cannot be changed later, and it disables downloads.",
  create: "Create playback ID",
  created: "Playback ID created",
  id: (id: string) => `the playback ID ${id.slice(0, 8)}`,
  rulesOf: (id: string) => `Rules of ${id.slice(0, 8)}`,
  rules: "Rules",
  ruleCount: (kind: RuleKind, entries: number, isDeny: boolean) =>
    `${isDeny ? "only" : "not"} ${kind === "domains" ? count(entries, "domain", "domains") : count(entries, "user agent", "user agents")}`,
  remove: {
    button: "Delete",
    buttonOf: (id: string) => `Delete the playback ID ${id.slice(0, 8)}`,
    title: "Delete this playback ID?",
    lead: "Everything below its address stops within 2 seconds: the manifest, player pages, images and downloads. Running playback stops too.",
    shared: "Shared caches may keep files of a public playback ID. Purge them.",
    last: "It is the last one: nothing plays this media then.",
    final: "This cannot be undone. A new playback ID has another address.",
    confirm: "Delete playback ID",
    done: "Playback ID deleted",
  },
};

export const rulesText = {
  kinds: { domains: "Domains", userAgents: "User agents" } satisfies Record<RuleKind, string>,
  policy: { domains: "Pages", userAgents: "Players" } satisfies Record<RuleKind, string>,
  policies: { allow: "Allow all except", deny: "Allow only" },
  list: {
    domains: { allow: "Allowed domains", deny: "Rejected domains" },
    userAgents: { allow: "Allowed user agents", deny: "Rejected user agents" },
  } satisfies Record<RuleKind, Record<"allow" | "deny", string>>,
  hints: {
    domains: "One host per line. shop.example includes its subdomains, *.shop.example is the subdomains alone.",
    userAgents: "One text per line. It matches a User-Agent that contains it; case matters.",
  } satisfies Record<RuleKind, string>,
  warning: "Browsers send the page, but programs may send any value. These rules keep other pages from showing the media; only a private playback ID restricts who can play it.",
  save: "Save rules",
  saved: "Rules saved. They apply within 2 seconds.",
  leaving: { title: "Leave without saving the rules?", lead: "Your changes are not saved.", stay: "Stay", leave: "Leave the page" },
  tester: {
    title: "Test the rules",
    lead: "Asks the server whether a viewer may play by the rules above, saved or not.",
    page: "Page that shows the player",
    pageHint: "Empty: the viewer sends no page, as apps do.",
    userAgent: "User agent",
    check: "Test",
    allowed: "Allowed",
    rejected: "Rejected",
  },
};

export const tracksText = {
  title: "Tracks",
  types: trackTypes,
  columns: { track: "Track", type: "Type", state: "State", actions: "Actions" },
  origin: { source: "from the source", added: "added" },
  states: { preparing: "Preparing", available: "Available", failed: "Failed" },
  size: (width: number, height: number) => `${width} × ${height}`,
  add: "Add a track",
  addLead: "Subtitles are SRT or WebVTT files. Of a file with audio, the first audio track is used.",
  type: "Type",
  addTypes: { subtitle: "Subtitles", audio: "Audio" },
  url: "URL of the file",
  newUrl: "URL of another file",
  newUrlHint: "Empty: the file stays.",
  code: "Language code",
  codeHint: "A BCP 47 tag such as en-US.",
  name: "Name",
  nameHint: "Players show it.",
  addButton: "Add track",
  added: "Track added",
  change: "Change",
  changeOf: (name: string) => `Change ${name}`,
  changeTitle: (name: string) => `Change ${name}`,
  changed: "Track changed",
  remove: "Delete",
  removeOf: (name: string) => `Delete ${name}`,
  removeTitle: (name: string) => `Delete “${name}”?`,
  removeLead: "Players do not offer this track any more. This cannot be undone.",
  removeButton: "Delete track",
  removed: "Track deleted",
  empty: "No tracks yet",
  emptyLead: "The tracks of the source are known when the media is ready. You can add subtitles and audio now.",
};

export const renditionsText = {
  title: "Renditions",
  summary: (copied: number, encoded: number) => [copied > 0 && `${copied} copied`, encoded > 0 && `${encoded} encoded when watched`].filter(Boolean).join(", "),
  columns: { rendition: "Rendition", how: "Method", made: "Encoded", size: "Size", watched: "Last watched" },
  types: { video: "Video", audio: "Audio", download: "Download" },
  methods: { copied: "copied", encoded: "encoded" },
  sourceItself: "same as the source",
  made: (made: number, all: number | null) => (all === null ? count(made, "segment", "segments") : `${made.toLocaleString("en-GB")} of ${all.toLocaleString("en-GB")}`),
  madeOf: (name: string) => `Encoded segments of ${name}`,
  broken: "cannot be encoded",
  notReady: "Renditions are known when the media is ready.",
  whyTitle: "Why some tracks are encoded",
  why: (type: TrackType, reason: string, detail: string) => {
    const known = reasons[reason as NotCopiedReason];
    return { what: `${trackTypes[type]}: ${detail}.`, cause: known?.cause ?? "", instead: known === undefined ? "" : `To avoid encoding, use ${known.instead}.` };
  },
  allCopied: "The tracks of the source are copied, not encoded.",
  leftOut: (type: TrackType, detail: string) => `${trackTypes[type]} cannot be played: ${detail}.`,
  truncated: "The end of the file is missing. The part that exists plays.",
  doesNotDecode: "The video did not decode and is not offered.",
  brokenNames: (names: string[]) => `Could not be encoded: ${names.join(", ")}.`,
};

export const eventsText = {
  title: "Events",
  none: "No events yet",
  noneLead: "Events are stored for 30 days.",
  new: (number: number) => `Show ${count(number, "new event", "new events")}`,
  more: "Show older events",
  body: "Body as webhooks get it",
  noBody: "A newer version of the server wrote this event. It cannot be shown.",
  noDeliveries: "No webhook",
  delivered: (done: number, all: number) => `delivered to ${done} of ${all}`,
  states: { waiting: "Waiting", retrying: "Retrying", delivered: "Delivered", failed: "Failed" } satisfies Record<DeliveryState, string>,
  attempts: (number: number) => count(number, "attempt", "attempts"),
  status: (status: number) => `status ${status}`,
  next: "next attempt",
  last: "last attempt",
  disabled: "the webhook is disabled",
  deletedWebhook: "Deleted webhook",
};

export const codeText = {
  title: "Code",
  playbackId: "Playback ID",
  option: (id: string, policy: string) => `${id.slice(0, 8)}… ${policy.toLowerCase()}`,
  none: "Code needs a playback ID.",
  create: "Go to the playback IDs",
  privateNote: "This playback ID is private. Replace TOKEN by a token that your server signs.",
  addresses: "Addresses",
  hls: "HLS manifest",
  page: "Player page",
  thumbnail: "Thumbnail",
  oembed: "oEmbed",
  iframe: "Embed with an iframe",
  iframeLead: "The player page in your page.",
  hlsjs: "Play with hls.js",
  hlsjsLead: "A video element of your own. Safari plays HLS itself.",
  api: "Read this media with the API",
  apiLead: "TOKEN_ID and SECRET are those of an access token.",
  sign: "Sign a token on your server",
  signLead: "key.json is the response of POST /v1/iam/signing-keys. The token is valid for one hour.",
  node: "Node.js",
  python: "Python, with pip install 'pyjwt[crypto]'",
};
