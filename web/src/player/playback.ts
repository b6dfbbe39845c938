// Plays a manifest in a `<video>`: by hls.js where Media Source Extensions exist, else natively.

import Hls, { type ErrorData } from "hls.js";

import { audioTracks } from "./audio-tracks.js";
import { qualities } from "./qualities.js";

/** Why playback stopped before its end. */
export interface Stop {
  /** `network`: bytes did not arrive. `decode`: they arrived and could not be decoded. */
  cause: "network" | "decode";
  /** The HTTP response that stopped it, if there was one. */
  answer: Answer | null;
  /** Position at the stop. The video element has lost it by then. */
  at_s: number;
  /** Whether it was playing or about to play: not paused by the viewer. */
  wasPlaying: boolean;
}

/** An unexpected response of the server. */
export interface Answer {
  status: number;
  /** Value of the header Retry-After. */
  retryAfter: string | null;
}

/** An error of hls.js, as the `detail` of a `kinora:error` event on the video element. */
export interface PlaybackError {
  fatal: boolean;
  /** The name that hls.js uses, such as `fragLoadError`. */
  name: string;
  /** Status of the HTTP response that caused it, if there was one. */
  status: number | null;
}

/** Seconds of buffer before the viewer presses play: enough to start at once, little wasted. */
const AHEAD_WAITING_S = 10;
/** Seconds of buffer during playback. Content further ahead may never be watched and may need an encode. */
const AHEAD_PLAYING_S = 60;
/** Seconds that stay in the buffer behind the position, for short seeks back. */
const BEHIND_S = 90;
/** A decoder that fails again within this time after a restart will not recover. */
const RECOVERY_MS = 10_000;

/** Timeout for playable bytes after an error that hls.js does not report as fatal. */
const PATIENCE_MS = 8_000;
/** Errors with this timeout: undecodable bytes and missing bytes. */
const PASSING: string[] = [Hls.ErrorTypes.MEDIA_ERROR, Hls.ErrorTypes.NETWORK_ERROR];
/** Reports of hls.js about waiting. Bytes that are made on demand may take some time. */
const WAITING: string[] = [Hls.ErrorDetails.BUFFER_STALLED_ERROR, Hls.ErrorDetails.BUFFER_NUDGE_ON_STALL];

/** A manifest that plays. */
export interface Playback {
  /** Detaches from the video element. */
  stop(): void;
}

/** Whether this browser can play HLS. */
export function isSupported(video: HTMLVideoElement): boolean {
  return Hls.isSupported() || playsHls(video);
}

/**
 * Plays `manifest` in `video` from `startAt_s` on. Calls `onStop` once, when it cannot continue.
 *
 * The video element emits `kinora:error` for every error of hls.js, also for those that hls.js recovers
 * from, so that an embedding page (or a test) can count them.
 */
export function play(
  video: HTMLVideoElement,
  manifest: string,
  startAt_s: number,
  onStop: (stop: Stop) => void,
): Playback {
  return Hls.isSupported()
    ? playByHlsJs(video, manifest, startAt_s, onStop)
    : playByBrowser(video, manifest, startAt_s, onStop);
}

function playByHlsJs(
  video: HTMLVideoElement,
  manifest: string,
  startAt_s: number,
  onStop: (stop: Stop) => void,
): Playback {
  const hls = new Hls({
    // The segments are fMP4 and need no conversion. A worker would be loaded from a `blob:` URL, which the
    // Content-Security-Policy of the page would have to allow.
    enableWorker: false,
    startPosition: startAt_s > 0 ? startAt_s : -1,
    maxBufferLength: AHEAD_WAITING_S,
    maxMaxBufferLength: video.paused ? AHEAD_WAITING_S : AHEAD_PLAYING_S,
    backBufferLength: BEHIND_S,
    capLevelToPlayerSize: true,
    ...(audioTracks.choice === undefined ? {} : { audioPreference: audioTracks.choice }),
  });
  // The server prepares the first segment of the first level. Without this, hls.js may start with another
  // level, chosen by an earlier bandwidth estimate.
  hls.on(Hls.Events.MANIFEST_PARSED, (_, { firstLevel }) => (hls.startLevel = firstLevel));
  audioTracks.follow(hls);
  qualities.follow(hls);
  const loadAhead = () => {
    hls.config.maxBufferLength = 30;
    hls.config.maxMaxBufferLength = AHEAD_PLAYING_S;
  };
  video.addEventListener("play", loadAhead, { once: true });

  let recovered_ms = Number.NEGATIVE_INFINITY;
  let hope = 0;
  const stop = () => {
    window.clearTimeout(hope);
    video.removeEventListener("play", loadAhead);
    hls.destroy();
  };
  const end = (error: ErrorData) => {
    const { currentTime: at_s, paused } = video;
    stop();
    onStop({ cause: isLost(error) ? "network" : "decode", answer: answerOf(error), at_s, wasPlaying: !paused });
  };
  // Invalid segments, and segments that fail in every rung, are not fatal errors for hls.js. Without this
  // timeout the spinner would turn forever.
  const wait = (error: ErrorData) => {
    if (hope !== 0 || !PASSING.includes(error.type) || WAITING.includes(error.details)) return;
    const had = bufferedOf(video);
    hope = window.setTimeout(() => {
      hope = 0;
      if (video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA) return;
      if (bufferedOf(video) === had) end(error);
      else wait(error); // bytes have arrived
    }, PATIENCE_MS);
  };
  hls.on(Hls.Events.ERROR, (_, error) => {
    announce(video, error);
    if (!error.fatal) {
      wait(error);
      return;
    }
    const isDecode = error.type === Hls.ErrorTypes.MEDIA_ERROR;
    if (isDecode && performance.now() - recovered_ms > RECOVERY_MS) {
      recovered_ms = performance.now();
      hls.recoverMediaError();
      return;
    }
    end(error);
  });
  hls.loadSource(manifest);
  hls.attachMedia(video);
  return { stop };
}

function playByBrowser(
  video: HTMLVideoElement,
  manifest: string,
  startAt_s: number,
  onStop: (stop: Stop) => void,
): Playback {
  const failed = () => {
    const isDecode = video.error?.code === MediaError.MEDIA_ERR_DECODE;
    const { currentTime: at_s, paused } = video;
    stop();
    onStop({ cause: isDecode ? "decode" : "network", answer: null, at_s, wasPlaying: !paused });
  };
  const stop = () => {
    video.removeEventListener("error", failed);
    video.removeAttribute("src");
    video.load();
  };
  video.addEventListener("error", failed);
  video.src = manifest;
  if (startAt_s > 0) video.currentTime = startAt_s;
  return { stop };
}

/** The buffered ranges as text, to compare them. */
function bufferedOf({ buffered }: HTMLVideoElement): string {
  return Array.from({ length: buffered.length }, (_, index) => `${buffered.start(index)}-${buffered.end(index)}`).join();
}

/** Whether bytes did not arrive. A playlist that cannot be parsed counts as a decode error. */
function isLost({ type, details }: ErrorData): boolean {
  const { MANIFEST_PARSING_ERROR, LEVEL_PARSING_ERROR } = Hls.ErrorDetails;
  return type === Hls.ErrorTypes.NETWORK_ERROR && details !== MANIFEST_PARSING_ERROR && details !== LEVEL_PARSING_ERROR;
}

/** The HTTP response that caused an error. hls.js loads by XMLHttpRequest. */
function answerOf({ response, networkDetails }: ErrorData): Answer | null {
  if (!response?.code) return null;
  const header = (name: string) => (networkDetails instanceof XMLHttpRequest ? networkDetails.getResponseHeader(name) : null);
  return { status: response.code, retryAfter: header("Retry-After") };
}

function playsHls(video: HTMLVideoElement): boolean {
  return video.canPlayType("application/vnd.apple.mpegurl") !== "";
}

function announce(video: HTMLVideoElement, error: ErrorData): void {
  const detail: PlaybackError = {
    fatal: error.fatal,
    name: error.details,
    status: error.response?.code || null,
  };
  video.dispatchEvent(new CustomEvent("kinora:error", { detail, bubbles: true }));
}
