// A headless Chromium of the system, with nothing in it from an earlier run.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

/** Where Debian, Ubuntu and Google put it. `KINORA_CHROMIUM` names another one. */
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

const FLAGS = [
  "--no-sandbox", // as root in a container there is none to be had
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--autoplay-policy=no-user-gesture-required",
];

/** Starts a browser with an empty profile in a temporary folder. The caller closes it. */
export async function startBrowser() {
  const executablePath = process.env.KINORA_CHROMIUM ?? PLACES.find((place) => existsSync(place));
  if (executablePath === undefined) {
    throw new Error("no Chromium found: install the package chromium, or name one in KINORA_CHROMIUM");
  }
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
}
