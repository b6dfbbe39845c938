#!/usr/bin/env node
// Prints how long a page of the dashboard takes until a person can use it, with an empty cache.
//
//   node page-usable.mjs ADDRESS [--cookie NAME=VALUE] [--rounds N]
//
// The line has 10 Mb/s and 40 ms, the processor is four times slower. The time starts with the navigation.
// It ends at the first frame that shows the email field of the sign-in page, or the first media of the
// library. Prints one JSON array of milliseconds, one per round. Each round has a new profile; one more at
// the start is not counted, because it starts processes of the browser.

import { parseArgs } from "node:util";
import { startBrowser } from "./support/browser.mjs";

const LATENCY_MS = 40;
const BYTES_PER_S = 10_000_000 / 8;
const CPU_SLOWDOWN = 4;
const USABLE = "input[inputmode=email], main a[href*='/media/']";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { cookie: { type: "string", default: "" }, rounds: { type: "string", default: "7" } },
});
const [address] = positionals;
if (address === undefined || !(Number(values.rounds) > 0)) {
  console.error("usage: page-usable.mjs ADDRESS [--cookie NAME=VALUE] [--rounds N]");
  process.exit(2);
}

const browser = await startBrowser();
try {
  const took = [];
  for (let round = 0; round <= Number(values.rounds); round += 1) took.push(await usableAfterMs());
  console.log(JSON.stringify(took.slice(1)));
} finally {
  await browser.close();
}

async function usableAfterMs() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  try {
    const [name, value] = values.cookie.split("=");
    if (value) await context.addCookies([{ name, value, url: new URL(address).origin, httpOnly: true, sameSite: "Strict" }]);
    const page = await context.newPage();
    await page.addInitScript(reportUsable, USABLE);
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.enable");
    const rate = { downloadThroughput: BYTES_PER_S, uploadThroughput: BYTES_PER_S };
    await devtools.send("Network.emulateNetworkConditions", { offline: false, latency: LATENCY_MS, ...rate });
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: CPU_SLOWDOWN });
    await page.goto(address, { waitUntil: "commit" });
    const shown = await page.waitForFunction(() => window.usableAfterMs);
    return await shown.jsonValue();
  } finally {
    await context.close();
  }
}

/** In the page: sets `usableAfterMs` in the frame after the element is there. */
function reportUsable(selector) {
  const look = () => {
    if (document.querySelector(selector)) requestAnimationFrame(() => setTimeout(() => (window.usableAfterMs = performance.now())));
    else requestAnimationFrame(look);
  };
  look();
}
