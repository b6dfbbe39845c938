// Serves the page of `../trial/`, its two players, and files, on a port of the loopback.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const TRIAL = fileURLToPath(new URL("../trial/", import.meta.url));
const MODULES = fileURLToPath(new URL("../../node_modules/", import.meta.url));
const ENGINES = {
  "/engines/hls.js": join(MODULES, "hls.js/dist/hls.min.js"),
  "/engines/shaka.js": join(MODULES, "shaka-player/dist/shaka-player.hls-es2021.js"),
};

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".m3u8": "application/vnd.apple.mpegurl",
  ".mp4": "video/mp4",
};

/**
 * Starts it. `files` is an optional folder that is served below `/files/`.
 *
 * `holds` maps a path to a promise that delays its response; a test changes it while pages run.
 *
 * The pages of `address` have another origin than the server under test, like those of customers.
 */
export async function startStage({ files } = {}) {
  const holds = new Map();
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://stage").pathname;
    const file = path.startsWith("/files/") ? join(files, path.slice(6)) : (ENGINES[path] ?? join(TRIAL, path));
    const found = await stat(file).catch(() => null);
    if (!found?.isFile()) {
      response.writeHead(404).end();
      return;
    }
    const headers = {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-length": found.size,
    };
    await holds.get(path);
    response.writeHead(200, headers);
    if (request.method === "HEAD") response.end();
    else createReadStream(file).pipe(response);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    holds,
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/**
 * Plays in a new context of `browser` with an empty cache: to the end, until `until` is true for the
 * observations so far, or for `timeout_ms`. Returns the observations of `watch.js` and of the player.
 *
 * `trial` is the argument of `begin` in `trial.js`. The page and the players' scripts are loaded before the
 * time starts.
 */
export async function perform(browser, stage, trial, { until = () => false, timeout_ms }) {
  const context = await browser.newContext({ viewport: { width: 640, height: 360 } });
  try {
    const page = await context.newPage();
    const consoleErrors = [];
    page.on("pageerror", (error) => consoleErrors.push(String(error)));
    await page.goto(`${stage.address}/trial.html`);
    await page.waitForFunction(() => window.isReady);
    await page.evaluate((trial) => window.begin({ start: "largest", switches: [], ...trial }), trial);
    const over = Date.now() + timeout_ms;
    for (;;) {
      const seen = await page.evaluate(() => window.read());
      const isOver = seen.ended || seen.errors.some((error) => error.startsWith("fatal")) || Date.now() > over;
      if (isOver || until(seen)) return { ...seen, pageErrors: consoleErrors };
      await page.waitForTimeout(100);
    }
  } finally {
    await context.close();
  }
}
