// The Chromium of the system, headless, with an empty profile.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

/** Its paths on Debian, Ubuntu and from Google. `KINORA_CHROMIUM` names another one. */
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

const FLAGS = [
  "--no-sandbox", // not available for root in a container
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--autoplay-policy=no-user-gesture-required",
  "--host-resolver-rules=MAP kinora.test 127.0.0.1",
];

/**
 * A name of this machine that is not the loopback for the browser: over plain HTTP such a page has no
 * clipboard, and its requests no `Sec-Fetch-Site`.
 */
export const PLAIN_HOST = "kinora.test";

/** Timeout that detects hangs. It is no performance limit: a busy machine may need most of it. */
export const HANG_MS = 180_000;

/** Starts a browser with an empty profile in a temporary folder. The caller closes it. */
export async function startBrowser() {
  const executablePath = process.env.KINORA_CHROMIUM ?? PLACES.find((place) => existsSync(place));
  if (executablePath === undefined) {
    throw new Error("no Chromium found: install the package chromium, or name one in KINORA_CHROMIUM");
  }
  const browser = await chromium.launch({ executablePath, headless: true, args: FLAGS, timeout: HANG_MS });
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(HANG_MS);
    return context;
  };
  return browser;
}
