// From a manifest to a running `<video>`: by hls.js wherever Media Source Extensions exist, by the browser elsewhere.

import Hls, { type ErrorData } from "hls.js";

import { audioTracks } from "./audio-tracks.js";

/** Why playback ended before its end. */
export type Stop = "network" | "decode";

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
const HOPE_MS = 8_000;

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
  audioTracks.follow(hls);
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
  const giveUp = () => {
    if (video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA) return; // it plays nevertheless
    stop();
    onStop("decode");
  };
  hls.on(Hls.Events.ERROR, (_, error) => {
    announce(video, error);
    if (!error.fatal) {
      // Segments that are not media are never called fatal: without this the wheel would turn for ever.
      window.clearTimeout(hope);
      if (error.type === Hls.ErrorTypes.MEDIA_ERROR) hope = window.setTimeout(giveUp, HOPE_MS);
      return;
    }
    const isDecode = error.type === Hls.ErrorTypes.MEDIA_ERROR;
    if (isDecode && performance.now() - recovered_ms > RECOVERY_MS) {
      recovered_ms = performance.now();
      hls.recoverMediaError();
      return;
    }
    stop();
    onStop(isLost(error) ? "network" : "decode");
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
    stop();
    onStop(isDecode ? "decode" : "network");
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

/** Whether bytes did not come. What came and was not understood counts as a failure to decode. */
function isLost({ type, details }: ErrorData): boolean {
  const { MANIFEST_PARSING_ERROR, LEVEL_PARSING_ERROR } = Hls.ErrorDetails;
  return type === Hls.ErrorTypes.NETWORK_ERROR && details !== MANIFEST_PARSING_ERROR && details !== LEVEL_PARSING_ERROR;
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
