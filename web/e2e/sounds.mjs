#!/usr/bin/env node
// Chooses audio tracks on an embed page in a headless Chromium, as a viewer does, and prints the tones that were heard as JSON.
//
//   node sounds.mjs ADDRESS NAME=HZ...
//
// Plays the media again and again from the first track on, chooses each name from the menu, one after the other, and listens until a tone of so many Hz
// is what sounds loudest. Exit status: 0 if each was heard, 1 if not, 2 if the arguments are wrong.

import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { observe, playUntil } from "./support/observe.mjs";

/** What is heard of a tone lies in one of the bins of the analyser, some 6 Hz wide, or beside it. */
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

/** Runs in the page: what the video sounds goes through an analyser from now on, and it begins again when it ends. */
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

/** Opens the menu of audio tracks and takes what is called so. */
async function choose(page, name) {
  await page.mouse.move(100, 100); // the controls show themselves
  await page.getByRole("button", { name: "Audio" }).click();
  await page.locator("media-audio-track-menu").getByRole("menuitemradio", { name, exact: true }).click();
}
