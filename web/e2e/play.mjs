#!/usr/bin/env node
// Plays an embed page in a headless Chromium and prints the result as JSON.
//
//   node play.mjs ADDRESS [--until-end | --seconds N] [--from S] [--audio NAME] [--timeout S]
//                [--screenshot FILE.png]
//
// Plays muted at normal speed: to the end (default), or until the position N seconds. With `--audio`,
// chooses the audio track of that name from the menu after one second. Exit status: 0 if it played that far
// without a fatal error, 1 if not, 2 if the arguments are wrong.

import { parseArgs } from "node:util";
import { startBrowser } from "./support/browser.mjs";
import { observe, playUntil, readState } from "./support/observe.mjs";

const USAGE =
  "play.mjs ADDRESS [--until-end | --seconds N] [--from S] [--audio NAME] [--timeout S] [--screenshot FILE.png]";

const options = readArguments();
const browser = await startBrowser();
let reached = true;
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  const seen = await observe(page);
  await page.goto(options.address);
  await playAndChoose(page, options).catch((error) => {
    reached = false;
    seen.console.push(`gave up: ${error.message.split("\n")[0]}`);
  });
  if (options.screenshot) await page.screenshot({ path: options.screenshot });

  const state = await readState(page);
  const origin = new URL(options.address).origin;
  const elsewhere = seen.requests.filter((address) => /^https?:/.test(address) && new URL(address).origin !== origin);
  const played = reached && state.notice === null && !state.errors.some((error) => error.fatal);
  console.log(
    JSON.stringify(
      { played, ...state, console: seen.console, requests: seen.requests, requestsElsewhere: elsewhere },
      null,
      2,
    ),
  );
  process.exitCode = played ? 0 : 1;
} finally {
  await browser.close();
}

/** Plays, and chooses an audio track from the menu as a viewer does. */
async function playAndChoose(page, options) {
  if (options.audio !== undefined) {
    await playUntil(page, { ...options, until_s: options.from_s + 1 });
    await page.mouse.move(100, 100); // shows the controls
    await page.getByRole("button", { name: "Audio" }).click({ timeout: options.timeout_ms });
    const item = page.getByRole("menuitemradio", { name: options.audio, exact: true });
    await item.click({ timeout: options.timeout_ms });
  }
  await playUntil(page, options.audio === undefined ? options : { ...options, from_s: 0 });
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        "until-end": { type: "boolean" },
        seconds: { type: "string" },
        from: { type: "string" },
        audio: { type: "string" },
        timeout: { type: "string" },
        screenshot: { type: "string" },
        json: { type: "boolean" }, // the only format
      },
    });
    const [address] = positionals;
    if (positionals.length !== 1) throw new Error("one address is wanted");
    return {
      address,
      until_s: values["until-end"] || values.seconds === undefined ? undefined : seconds(values.seconds),
      from_s: seconds(values.from ?? "0"),
      audio: values.audio,
      timeout_ms: 1000 * seconds(values.timeout ?? "300"),
      screenshot: values.screenshot,
    };
  } catch (error) {
    console.error(`${error.message}\nusage: ${USAGE}`);
    process.exit(2);
  }
}

function seconds(text) {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`${text} is not a number of seconds`);
  return value;
}
