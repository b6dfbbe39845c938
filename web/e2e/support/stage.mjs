// The page of `../trial/` and the two players it knows, on a port of loopback, and files to be fetched from there.

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
 * Starts it. `files` is a folder that is served below `/files/`, or nothing.
 *
 * `holds` maps a path to a promise that its answer waits for; a test changes it while pages run.
 *
 * The pages of `address` are of another origin than the server under test, as those of its users are.
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
 * Plays in a new context of `browser`, with nothing in its cache, until the end, until `until` of what was seen so far is
 * true, or for `timeout_ms`. Answers what `watch.js` and the player saw.
 *
 * `trial` is the argument of `begin` in `trial.js`. The page and the players' scripts are loaded before the time begins.
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
