#!/usr/bin/env node
// Chooses audio tracks on an embed page in a headless Chromium, as a viewer does, and prints the detected
// tones as JSON.
//
//   `node sounds.mjs ADDRESS NAME=HZ...`
//
// Plays the media repeatedly, beginning with its first track. Chooses each NAME from the menu in turn, and
// listens until a tone of HZ is the loudest. Exit status: 0 if each tone was detected, 1 if not, 2 if the
// arguments are wrong.

import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { observe, playUntil } from "./support/observe.mjs";

/** A tone appears in its bin of the analyser, about 6 Hz wide, or in a neighbour. */
const NEAR_HZ = 20;

const [address, ...pairs] = process.argv.slice(2);
const wanted = pairs.map((pair) => ({ name: pair.split("=")[0], hz: Number(pair.split("=")[1]) }));
if (address === undefined || wanted.length === 0 || wanted.some(({ hz }) => !(hz > 0))) {
  console.error("usage: sounds.mjs ADDRESS NAME=HZ...");
  process.exit(2);
}

const browser = await startBrowser();
const heard = [];
let problem = null;
let last = null;
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  const seen = await observe(page);
  await page.goto(address);
  try {
    await playUntil(page, { until_s: 0.5, timeout_ms: HANG_MS });
    await page.evaluate(listen);
    for (const { name, hz } of wanted) {
      await choose(page, name);
      const near = ({ hz, near }) => {
        window.lastHeard = window.loudest();
        return Math.abs(window.lastHeard - hz) <= near && window.lastHeard;
      };
      const tone = await page.waitForFunction(near, { hz, near: NEAR_HZ }, { polling: 100 });
      heard.push({ name, hz: Math.round(await tone.jsonValue()) });
    }
  } catch (error) {
    problem = error.message.split("\n")[0];
    last = await page.evaluate(() => window.lastHeard).catch(() => null);
  }
  console.log(JSON.stringify({ heard, problem, last, console: seen.console, requests: seen.requests }, null, 2));
} finally {
  await browser.close();
}
process.exitCode = problem === null ? 0 : 1;

/** Runs in the page: connects the audio of the video to an analyser, and loops the video. */
async function listen() {
  const video = document.querySelector("video");
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  analyser.fftSize = 8192;
  analyser.smoothingTimeConstant = 0;
  context.createMediaElementSource(video).connect(analyser).connect(context.destination);
  await context.resume();
  video.loop = true;
  video.muted = false;
  const bins = new Float32Array(analyser.frequencyBinCount);
  window.loudest = () => {
    analyser.getFloatFrequencyData(bins);
    const peak = bins.reduce((best, level, bin) => (level > bins[best] ? bin : best), 0);
    return bins[peak] > -60 ? (peak * context.sampleRate) / analyser.fftSize : 0;
  };
}

/** Opens the menu of audio tracks and chooses the entry of this name. */
async function choose(page, name) {
  await page.mouse.move(100, 100); // shows the controls
  await page.getByRole("button", { name: "Audio" }).click();
  await page.locator("media-audio-track-menu").getByRole("menuitemradio", { name, exact: true }).click();
}
