#!/usr/bin/env node
// Takes a screenshot of an embed page: node shot.mjs ADDRESS FILE.png [WIDTHxHEIGHT]

import { startBrowser } from "./support/browser.mjs";

const [address, file, size = "1280x720"] = process.argv.slice(2);
const [width, height] = size.split("x").map(Number);
if (!address || !file || !(width > 0) || !(height > 0)) {
  console.error("usage: shot.mjs ADDRESS FILE.png [WIDTHxHEIGHT]");
  process.exit(2);
}
const browser = await startBrowser();
try {
  const page = await browser.newPage({ viewport: { width, height } });
  await page.goto(address, { waitUntil: "networkidle" });
  await page.screenshot({ path: file });
} finally {
  await browser.close();
}
