#!/usr/bin/env node
// Prints how long a viewer waits for the first frame with an empty browser cache.
//
//   node first-frame.mjs ADDRESS... [--engine hls.js|shaka] [--start own|listed] [--timeout S]
//   node first-frame.mjs - [--engine hls.js|shaka] [--start own|listed] [--timeout S]
//
// ADDRESS is the URL of a multivariant playlist. With `-` URLs are read from standard input, one per line.
// The line `ready` is printed when the browser has started, so that a caller can send a URL at the moment
// when it should play.
//
// The player chooses its first rung. With `--start listed` hls.js starts with the first one of the manifest,
// as our page does.
//
// Prints one line of JSON per URL: `{"address", "firstFrameMs", "width", "height", "errors"}`. The time
// starts when the player, its script already loaded, receives the URL. It ends when a frame is on the
// screen; for audio only, when the position advances. `firstFrameMs` is null after a timeout. The first URL
// of a browser takes longer than others, so use one that does not count. Exit status: 0 if every URL had its
// frame, 1 if not, 2 if the arguments are wrong.

import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { startBrowser } from "./support/browser.mjs";
import { perform, startStage } from "./support/stage.mjs";

const USAGE = "first-frame.mjs (ADDRESS... | -) [--engine hls.js|shaka] [--start own|listed] [--timeout S]";

const { addresses, engine, start, timeout_ms } = readArguments();
const stage = await startStage();
const browser = await startBrowser();
try {
  await warmUp();
  if (addresses[0] === "-") {
    console.log("ready");
    for await (const line of createInterface({ input: process.stdin })) await measure(line.trim());
  } else {
    for (const address of addresses) await measure(address);
  }
} finally {
  await browser.close();
  await stage.stop();
}

async function measure(address) {
  const until = ({ firstFrameMs }) => firstFrameMs !== null;
  const seen = await perform(browser, stage, { engine, address, start }, { until, timeout_ms });
  const { firstFrameMs, sizes, errors } = seen;
  const [width = 0, height = 0] = (sizes[0]?.size ?? "").split("x").map(Number);
  console.log(JSON.stringify({ address, firstFrameMs, width, height, errors }));
  if (firstFrameMs === null) process.exitCode = 1;
}

/** The first page of a browser is slower than all others, because it starts the process of the page. */
async function warmUp() {
  const page = await browser.newPage();
  await page.goto(`${stage.address}/trial.html`);
  await page.close();
}

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        engine: { type: "string", default: "hls.js" },
        start: { type: "string", default: "own" },
        timeout: { type: "string", default: "60" },
      },
    });
    if (positionals.length === 0) throw new Error("an address is wanted");
    if (!["hls.js", "shaka"].includes(values.engine)) throw new Error(`${values.engine} is no engine`);
    if (!["own", "listed"].includes(values.start)) throw new Error(`${values.start} is no start`);
    const timeout_ms = 1000 * Number(values.timeout);
    if (!(timeout_ms > 0)) throw new Error(`${values.timeout} is not a number of seconds`);
    return { addresses: positionals, engine: values.engine, start: values.start, timeout_ms };
  } catch (error) {
    console.error(`${error.message}\nusage: ${USAGE}`);
    process.exit(2);
  }
}
