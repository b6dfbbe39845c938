// The page `/embed/{playbackId}`: plays one stream, and explains in plain words why when it cannot.
//
// `config.ts` reads the values of the server, `playback.ts` plays, `problem.ts` explains errors. This file
// connects them.

import "./audio-tracks.js"; // must be the first two imports; see there
import "./qualities.js";
import "media-chrome/dist/media-controller.js";
import "media-chrome/dist/media-control-bar.js";
import "media-chrome/dist/media-fullscreen-button.js";
import "media-chrome/dist/media-loading-indicator.js";
import "media-chrome/dist/media-mute-button.js";
import "media-chrome/dist/media-pip-button.js";
import "media-chrome/dist/media-play-button.js";
import "media-chrome/dist/media-time-display.js";
import "media-chrome/dist/media-time-range.js";
import "media-chrome/dist/media-volume-range.js";
import "media-chrome/dist/menu/media-audio-track-menu-button.js";
import "media-chrome/dist/menu/media-audio-track-menu.js";
import "media-chrome/dist/menu/media-captions-menu-button.js";
import "media-chrome/dist/menu/media-captions-menu.js";
import "media-chrome/dist/menu/media-chrome-menu-item.js"; // no menu imports it
import "media-chrome/dist/menu/media-playback-rate-menu-button.js";
import "media-chrome/dist/menu/media-playback-rate-menu.js";
import "media-chrome/dist/menu/media-rendition-menu-button.js";

import { showBlur } from "./blur.js";
import { type Config, readConfig } from "./config.js";
import { type Playback, type Stop, isSupported, play } from "./playback.js";
import { type Problem, INTERRUPTED, UNDECODABLE, UNFILLED, UNSUPPORTED, busyOf, diagnose } from "./problem.js";
import { showQuality } from "./quality-menu.js";
import { showStoryboard } from "./storyboard.js";

/** Delays between automatic retries when the server gives none; the last one repeats. */
const RETRY_AFTER_MS = [1_000, 2_000, 3_000, 5_000, 8_000, 15_000];

/** Seconds that must play beyond the position of the last stop before retries count from zero. */
const OVER_S = 1;

const player = element("player");
const video = element("video") as HTMLVideoElement;

const config = readConfig(document);
if (config === null) {
  showNotice(UNFILLED);
} else if (!isSupported(video)) {
  showNotice(UNSUPPORTED);
} else {
  describe(config);
  run(config.manifest);
}

/** Sets title, poster, storyboard, the audio-only layout, and keyboard focus without a click. */
function describe({ title, poster, storyboard, blurHash }: Config): void {
  if (title !== null) {
    document.title = title;
    const heading = element("title");
    heading.textContent = title;
    heading.hidden = false;
  }
  if (blurHash !== null) showBlur(video, blurHash);
  if (poster !== null) video.poster = poster;
  if (storyboard !== null) showStoryboard(video, storyboard);
  showQuality(video, element("quality"), element("quality-now"));
  video.addEventListener("loadedmetadata", () => {
    const isAudio = video.videoWidth === 0;
    player.classList.toggle("audio", isAudio);
  });
  // In a frame, keys belong to the embedding page until the viewer clicks the player.
  if (window === window.top) video.focus({ preventScroll: true });
}

/** Plays to the end. After each stop: diagnoses, shows the reason, and retries if that can help. */
function run(manifest: string): void {
  let playback: Playback | null = null;
  let tries = 0;
  let timer = 0;
  let resume = { at_s: 0, wasPlaying: false };

  const start = () => {
    hideNotice();
    playback = play(video, manifest, resume.at_s, stopped);
    // The browser shows the play button if it requires a click.
    if (resume.wasPlaying) video.play().catch(() => {});
  };

  const stopped = async (stop: Stop) => {
    resume = stop;
    playback = null;
    const problem = (await diagnose(manifest)) ?? (stop.answer === null ? null : busyOf(stop.answer));
    if (problem === null && stop.cause === "network" && tries === 0) {
      tries = 1;
      start(); // the manifest is fine again: the failure was temporary
      return;
    }
    wait(problem ?? (stop.cause === "decode" ? UNDECODABLE : INTERRUPTED));
  };

  const wait = (problem: Problem) => {
    showNotice(problem);
    window.clearTimeout(timer);
    if (problem.retry !== "by-itself") return;
    timer = window.setTimeout(retry, problem.after_ms ?? RETRY_AFTER_MS[Math.min(tries, RETRY_AFTER_MS.length - 1)]);
    tries += 1;
  };

  const retry = async () => {
    window.clearTimeout(timer);
    const problem = await diagnose(manifest);
    if (playback !== null) return; // another retry was faster
    if (problem === null) start();
    else wait(problem);
  };

  // Playback recovered only when it has passed the stop: up to there it may play from the buffer.
  video.addEventListener("timeupdate", () => {
    if (video.currentTime > resume.at_s + OVER_S) tries = 0;
  });
  window.addEventListener("online", () => {
    if (playback === null) void retry();
  });
  element("notice-retry").addEventListener("click", () => void retry());
  start();
}

function showNotice(problem: Problem): void {
  element("notice-title").textContent = problem.title;
  element("notice-text").textContent = problem.text;
  element("notice-retry").hidden = problem.retry !== "on-request";
  const notice = element("notice");
  notice.classList.toggle("waiting", problem.retry === "by-itself");
  notice.hidden = false;
  player.inert = true; // not reachable by Tab or screen readers below the notice
}

function hideNotice(): void {
  element("notice").hidden = true;
  player.inert = false;
}

/** An element of the template. */
function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`embed.html has no element ${id}`);
  return found;
}
