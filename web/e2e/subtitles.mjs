#!/usr/bin/env node
// Chooses subtitles on an embed page in a headless Chromium, as a viewer does, and prints the displayed cues
// as JSON.
//
//   node subtitles.mjs ADDRESS NAME...
//
// Chooses each NAME from the menu in turn, and "Off" at the end, while the page is paused in the middle of
// the clip. Exit status: 0 if each choice showed a cue and the last one none, 1 if not, 2 if the arguments
// are wrong.

import { startBrowser } from "./support/browser.mjs";
import { observe } from "./support/observe.mjs";

const [address, ...names] = process.argv.slice(2);
if (address === undefined || names.length === 0) {
  console.error("usage: subtitles.mjs ADDRESS NAME...");
  process.exit(2);
}

const browser = await startBrowser();
const shown = [];
let problem = null;
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  const seen = await observe(page);
  await page.goto(address);
  try {
    await page.waitForFunction(() => document.querySelector("video")?.readyState >= 2);
    await page.evaluate(() => {
      const video = document.querySelector("video");
      video.currentTime = video.duration / 2;
    });
    for (const name of names) {
      await choose(page, name);
      const cues = await page.waitForFunction((name) => {
        const showing = Array.from(document.querySelector("video").textTracks).filter(({ mode }) => mode === "showing");
        const isChosen = showing.length === 1 && showing[0].label === name;
        return isChosen && showing[0].activeCues?.length > 0 && Array.from(showing[0].activeCues, ({ text }) => text);
      }, name);
      shown.push({ name, cues: await cues.jsonValue() });
    }
    await choose(page, "Off");
    await page.waitForFunction(() =>
      Array.from(document.querySelector("video").textTracks).every(({ mode }) => mode !== "showing"),
    );
  } catch (error) {
    problem = error.message.split("\n")[0];
  }
  console.log(JSON.stringify({ shown, problem, console: seen.console, requests: seen.requests }, null, 2));
} finally {
  await browser.close();
}
process.exitCode = problem === null ? 0 : 1;

/** Opens the menu of subtitles and chooses the entry of this name. */
async function choose(page, name) {
  await page.mouse.move(100, 100); // shows the controls
  await page.getByRole("button", { name: "closed captions" }).click();
  await page.locator("media-captions-menu").getByRole("menuitemradio", { name, exact: true }).click();
}
