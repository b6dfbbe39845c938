// The page `/embed/{playbackId}`: plays one stream, and says in plain words why when it cannot.
//
// `config.ts` is what the server tells the page, `playback.ts` plays, `problem.ts` explains. This file connects them.

import "./audio-tracks.js"; // these two first, see there
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
import "media-chrome/dist/menu/media-chrome-menu-item.js"; // no menu brings it along
import "media-chrome/dist/menu/media-playback-rate-menu-button.js";
import "media-chrome/dist/menu/media-playback-rate-menu.js";
import "media-chrome/dist/menu/media-rendition-menu-button.js";

import { showBlur } from "./blur.js";
import { type Config, readConfig } from "./config.js";
import { type Playback, type Stop, isSupported, play } from "./playback.js";
import { type Problem, INTERRUPTED, UNDECODABLE, UNFILLED, UNSUPPORTED, busyOf, diagnose } from "./problem.js";
import { showQuality } from "./quality-menu.js";
import { showStoryboard } from "./storyboard.js";

/** Waits between two tries that the page makes by itself where the server does not say; the last one repeats. */
const RETRY_AFTER_MS = [1_000, 2_000, 3_000, 5_000, 8_000, 15_000];

/** Seconds that must play beyond the place where playback stopped. */
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

/** Title, poster, pictures above the bar of time, the layout for sound alone, and keys that work without a click first. */
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
  // Inside another page the keys belong to that page until somebody clicks the player.
  if (window === window.top) video.focus({ preventScroll: true });
}

/** Plays until the end; after each stop, finds out why, shows it and tries again where that can help. */
function run(manifest: string): void {
  let playback: Playback | null = null;
  let tries = 0;
  let timer = 0;
  let resume = { at_s: 0, wasPlaying: false };

  const start = () => {
    hideNotice();
    playback = play(video, manifest, resume.at_s, stopped);
    if (resume.wasPlaying) video.play().catch(() => {}); // a browser that wants a click shows the play button
  };

  const stopped = async (stop: Stop) => {
    resume = stop;
    playback = null;
    const problem = (await diagnose(manifest)) ?? (stop.answer === null ? null : busyOf(stop.answer));
    if (problem === null && stop.cause === "network" && tries === 0) {
      tries = 1;
      start(); // it answers again: what failed was passing
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
    if (playback !== null) return; // another try was quicker
    if (problem === null) start();
    else wait(problem);
  };

  // It got over what stopped it only when it is past that: up to there it may play what was loaded before.
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
  player.inert = true; // out of reach of Tab and screen readers while the notice covers it
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
