// Text of uploads. It loads with them.

import { type Problem, UNREADABLE } from "../../upload/problem.js";
import type { Mismatch } from "../upload/match.js";
import { bytes, bytesOf } from "../parts/bytes.js";
import { sentence } from "./en.js";

const files = (count: number): string => (count === 1 ? "1 file" : `${count} files`);
const uploads = (count: number): string => (count === 1 ? "1 upload" : `${count} uploads`);

const START_AGAIN = "Press “Start again” to send the file again.";

/** What to do about failures that the same bytes cannot mend. */
const remedies: { [code: string]: string | undefined } = {
  not_media: "Choose a video or audio file.",
  no_audio: "Use a file with an audio track.",
  truncated: "Export or copy the whole file, then upload it.",
  codec_unsupported: "Convert the file to H.264, HEVC or AV1 with AAC or Opus in MP4.",
  source_too_large: "Split the file. A source has at most 1 TiB.",
};

export const uploadsText = {
  title: "Uploads",
  upload: "Upload",
  files,
  startAgain: START_AGAIN,

  otherSize: (expected: number, found: number): Problem => ({
    title: "This is another file",
    text: `The upload was started with a file of ${bytes(expected)}; this one has ${bytes(found)}. Choose the first file, or start again.`,
    retry: "never",
  }),
  changed: {
    title: "The file has changed",
    text: "It differs from the file that the upload was started with. Press “Start again” to send it as it is now.",
    retry: "never",
  } satisfies Problem,
  gone: {
    title: "This upload has ended",
    text: `It was cancelled, or no data arrived in time, so the server has deleted it. ${START_AGAIN}`,
    retry: "never",
  } satisfies Problem,
  mediaGone: {
    title: "Its media was deleted",
    text: "The file arrived, and the media was deleted after it.",
    retry: "never",
  } satisfies Problem,
  mediaFailed: (failure: { code: string; message: string } | undefined): Problem => {
    const remedy = failure && remedies[failure.code];
    return {
      title: remedy === undefined ? "The media failed" : "This file cannot be used",
      text: `${sentence(failure?.message ?? "")} ${remedy ?? START_AGAIN}`.trim(),
      retry: "never",
      isFileAtFault: remedy !== undefined,
    };
  },
  unreadableTitle: UNREADABLE.title,
  unreadable: (problem: Problem): Problem => ({
    ...problem,
    text: "It was changed or moved, or its disk was removed. The part sent so far is saved. Choose the file once more.",
  }),
  forbidden: (description: string): Problem => ({
    title: "Not allowed from here",
    text:
      `${sentence(description)} If this page has another address than the server’s public URL, an administrator can add it to the setting dashboard-origin. ` +
      "Press “Start again” to send the file from this page.",
    retry: "never",
  }),
  sentElsewhere: (problem: Problem): Problem => ({
    ...problem,
    text: "Another program or browser sends this upload now, so this page has stopped. Press “Try again” to send from here.",
  }),

  drop: {
    title: "Drop to upload",
    to: (workspace: string) => `to ${workspace}`,
  },

  sheet: {
    title: (count: number) => `Upload ${files(count)}`,
    reading: "Reading the files",
    whole: (size: number) => `${bytes(size)} in all`,
    leftOut: (count: number) => `${files(count)} left out: neither video nor audio, or more than 1,000.`,
    notRead: (names: string[]) => `Could not be read: ${names.join(", ")}.`,
    notStored: "The browser could not store the queue: its storage is full or turned off. Nothing is uploaded yet. Free space, then try again.",
    discard: {
      title: "Discard your changes?",
      lead: "The files are not uploaded, and titles and settings are lost.",
      stay: "Keep editing",
      leave: "Discard",
    },
    empty: "Empty: it has no bytes to send.",
    unreadable: "It cannot be read.",
    titleOf: (name: string) => `Title of ${name}`,
    remove: (name: string) => `Remove ${name}`,
    more: "Add files",
    policy: "Who may play",
    policies: { public: "Anyone with the link", private: "Only with a token" },
    policyHint: "Each media gets a playback ID with this policy. It can be changed later.",
    resolution: "Max. resolution",
    resolutionHint: "Larger video is encoded down to it for playback. The file itself is stored unchanged.",
    metadata: "Metadata",
    metadataHint: "Up to 10 pairs of your own, for all of these files.",
    key: (row: number) => `Key ${row}`,
    value: (row: number) => `Value ${row}`,
    addPair: "Add metadata",
    removePair: (row: number) => `Remove pair ${row}`,
    request: "The request that each file sends first",
    button: (count: number) => `Upload ${files(count)}`,
  },

  phase: {
    waiting: "Waiting",
    sending: "Sending",
    starting: "Starting",
    lastBytes: "Almost done",
    held: "Waiting for the server",
    paused: "Paused",
    noFile: "Choose the file again",
    needsClick: "Waiting for your click",
    preparing: "Preparing",
    ready: "Ready",
    failed: "Failed",
  },
  sent: (count: number, whole: number) => bytesOf(count, whole),
  rate: (perSecond: number) => `${bytes(perSecond)}/s`,
  percent: (share: number) => `${Math.floor(share * 100)} %`,
  size: bytes,

  actions: {
    of: (name: string, what: string) => `${what}: ${name}`,
    pause: "Pause",
    resume: "Resume",
    earlier: "Earlier",
    later: "Later",
    cancel: "Cancel",
    remove: "Remove",
    tryAgain: "Try again",
    startAgain: "Start again",
    open: "Open the media",
    openFailed: "Open the failed media",
    pauseAll: "Pause all",
    resumeAll: "Resume all",
    retryAll: "Retry all failed",
    clear: "Clear finished",
    fold: "Collapse",
    unfold: "Expand",
    close: "Close",
  },
  cancelTitle: "Cancel this upload?",
  cancelLead: (name: string) => `The server deletes the part of “${name}” that was sent. There is no way back.`,
  cancelButton: "Cancel the upload",
  cancelOthers: "Another person or program may be sending it now.",
  complete: "The file has arrived already, so it cannot be cancelled. Delete its media instead.",
  cancelled: "Upload cancelled",
  notCancelled: "The upload could not be cancelled. Try again.",

  again: {
    title: (count: number) => (count === 1 ? "1 upload waits for its file" : `${count} uploads wait for their files`),
    handles: (count: number) => `The page was reloaded. One click opens ${count === 1 ? "the file" : "the files"} again, and the browser may ask for your permission.`,
    choose: (count: number) => `The page was reloaded, and this browser cannot open files by itself. Choose the same ${files(count)}: the rest is sent.`,
    resume: (count: number) => `Resume ${uploads(count)}`,
    chooseButton: (count: number) => (count === 1 ? "Choose this file again" : `Choose these ${count} files again`),
  },
  mismatch: (name: string, mismatch: Mismatch, expected: string | null): string => {
    if (mismatch === "unknown") return `No unfinished upload here has a file named “${name}”.`;
    if (mismatch === "size") return `“${name}” has another size than the file of the upload${expected === null ? "" : `, which has ${expected}`}.`;
    return `“${name}” has the right name and size, but other content: it was changed, or it is another file.`;
  },
  refusedTitle: "Not the right files",

  tray: {
    name: "Uploads in progress",
    running: (count: number, finished: number) => (count === 1 ? "Uploading 1 file" : `Uploading ${count} files, ${finished} finished`),
    waiting: (count: number) => `${uploads(count)} paused`,
    waitingFor: (count: number) => `${uploads(count)} waiting`,
    failed: (count: number) => `${uploads(count)} failed`,
    done: (count: number) => `${files(count)} uploaded`,
    all: "All uploads",
    otherTab: "Another tab of this browser sends.",
    announce: (sentence: string, percent: number) => `${sentence}, ${percent} percent`,
  },

  page: {
    lead: "Unfinished uploads, from this browser and from others.",
    viewer: "Unfinished uploads. Your role does not allow you to upload.",
    mine: "From this browser",
    finished: "Finished",
    none: "Nothing is being uploaded from this browser.",
    atOnce: "Files at once",
    others: "Unfinished uploads of this workspace",
    othersLead: "From other browsers, the API and the command line.",
    noOthers: "There are no other unfinished uploads.",
    more: "Only the newest are shown.",
    untitled: "Untitled",
    byCreator: (id: string) => `creator ${id}`,
    kept: (count: number, whole: number | null) => (whole === null ? `${bytes(count)} arrived` : `${bytesOf(count, whole)} arrived`),
    under: "Data has arrived",
    notStarted: "No data yet",
    started: "Started",
    command: "By command, on the server",
    commandName: "the upload command",
    requestTitle: "From your own page or program",
    requestLead: "Create an upload, then send the file to its URL. More is in the",
    reference: "API reference",
    requestName: "the request",
    takenIn: "Video and audio in all usual containers and codecs. In a folder of the server there is no limit of size; in a bucket it is 2.3 TiB.",
    queueName: "Uploads of this browser",
  },

  plainHttp: "Over plain HTTP the browser cannot open files again by itself: after a reload, choose them once more.",
};
