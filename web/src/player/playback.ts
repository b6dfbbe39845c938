// From a manifest to a running `<video>`: by hls.js wherever Media Source Extensions exist, by the browser elsewhere.

import Hls, { type ErrorData } from "hls.js";

import { audioTracks } from "./audio-tracks.js";
import { qualities } from "./qualities.js";

/** Why playback ended before its end. */
export interface Stop {
  /** Whether bytes did not come, or came and could not be shown. */
  cause: "network" | "decode";
  /** The answer that ended it, if one came and is known. */
  answer: Answer | null;
  /** Where it ended. The video element, let go of, has forgotten. */
  at_s: number;
  /** Whether it played, or was to play: not paused by the viewer. */
  wasPlaying: boolean;
}

/** An answer of the server that is not the one that was wanted. */
export interface Answer {
  status: number;
  /** Value of the header Retry-After. */
  retryAfter: string | null;
}

/** What hls.js reported, as the `detail` of a `kinora:error` event on the video element. */
export interface PlaybackError {
  fatal: boolean;
  /** The name that hls.js gives it, such as `fragLoadError`. */
  name: string;
  /** Status of the answer behind it, if one came. */
  status: number | null;
}

/** Seconds to load ahead of somebody who has not pressed play: enough to start at once, little to throw away. */
const AHEAD_WAITING_S = 10;
/** Seconds to load ahead of somebody who watches. What is further away may never be seen, and may have to be encoded. */
const AHEAD_PLAYING_S = 60;
/** Seconds that stay in memory behind the playing position, for short jumps back. */
const BEHIND_S = 90;
/** A decoder that fails again this soon after it was restarted will not recover. */
const RECOVERY_MS = 10_000;

/** After an error that hls.js hopes to get over: how long until there must be something to play. */
const PATIENCE_MS = 8_000;
/** The errors that this is about: bytes that cannot be shown, and bytes that did not come. */
const PASSING: string[] = [Hls.ErrorTypes.MEDIA_ERROR, Hls.ErrorTypes.NETWORK_ERROR];
/** What hls.js reports of mere waiting. Bytes that are made while they are waited for may take their time. */
const WAITING: string[] = [Hls.ErrorDetails.BUFFER_STALLED_ERROR, Hls.ErrorDetails.BUFFER_NUDGE_ON_STALL];

/** A manifest that is being played. */
export interface Playback {
  /** Lets go of the video element. */
  stop(): void;
}

/** Whether this browser can play HLS at all. */
export function isSupported(video: HTMLVideoElement): boolean {
  return Hls.isSupported() || playsHls(video);
}

/**
 * Plays `manifest` in `video` from `startAt_s` on; `onStop` is called once, when it can go no further.
 *
 * Every error of hls.js, also those it gets over by itself, is sent as `kinora:error` from the video element, so
 * that the page around (and a test) can count them.
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
    // The segments are fMP4 and need no conversion. A worker would have to be loaded from a `blob:` address, which
    // the page's Content-Security-Policy then had to allow.
    enableWorker: false,
    startPosition: startAt_s > 0 ? startAt_s : -1,
    maxBufferLength: AHEAD_WAITING_S,
    maxMaxBufferLength: video.paused ? AHEAD_WAITING_S : AHEAD_PLAYING_S,
    backBufferLength: BEHIND_S,
    capLevelToPlayerSize: true,
    ...(audioTracks.choice === undefined ? {} : { audioPreference: audioTracks.choice }),
  });
  // The server prepares the first segment of the first level. hls.js may choose another one by a bandwidth
  // that it measured before.
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
  // hls.js calls neither segments that are not media fatal, nor those that do not come from any rung: without this the
  // wheel would turn for ever.
  const wait = (error: ErrorData) => {
    if (hope !== 0 || !PASSING.includes(error.type) || WAITING.includes(error.details)) return;
    const had = bufferedOf(video);
    hope = window.setTimeout(() => {
      hope = 0;
      if (video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA) return;
      if (bufferedOf(video) === had) end(error);
      else wait(error); // something came
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

/** What is there to play, to be compared. */
function bufferedOf({ buffered }: HTMLVideoElement): string {
  return Array.from({ length: buffered.length }, (_, index) => `${buffered.start(index)}-${buffered.end(index)}`).join();
}

/** Whether bytes did not come. What came and was not understood counts as a failure to decode. */
function isLost({ type, details }: ErrorData): boolean {
  const { MANIFEST_PARSING_ERROR, LEVEL_PARSING_ERROR } = Hls.ErrorDetails;
  return type === Hls.ErrorTypes.NETWORK_ERROR && details !== MANIFEST_PARSING_ERROR && details !== LEVEL_PARSING_ERROR;
}

/** The answer behind an error. hls.js loads by XMLHttpRequest. */
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
