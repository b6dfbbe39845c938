// The result of `make run` with the real binary: the server, the demonstration clip, and its page in
// Chromium. Needs `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { onFreePort } from "./support/kinora.mjs";
import { observe, playUntil, readState } from "./support/observe.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BINARY = process.env.KINORA_BIN ?? join(ROOT, "target/debug/kinora");

test("make run plays the clip, stops cleanly, and starts again", async () => {
  await onFreePort(async (port) => {
    const data = await mkdtemp(join(tmpdir(), "kinora-run-"));
    const listen = `127.0.0.1:${port}`;
    try {
      const first = await run(listen, data);
      await assertPlays(first.page);
      await first.interrupt();
      await assert.rejects(fetch(`http://${listen}/healthz`), "nobody listens any more");

      const second = await run(listen, data);
      assert.equal(second.page, first.page, "the clip and its address stay");
      assert.equal((await fetch(second.page)).status, 200);
      await second.interrupt();
    } finally {
      await rm(data, { recursive: true, force: true });
    }
  });
});

/** Starts the script in its own process group, as a terminal does, and waits for the URL of the player. */
async function run(listen, data) {
  const env = { ...process.env, LISTEN: listen, DATA_DIR: data, PUBLIC_URL: `http://${listen}` };
  const script = spawn(join(ROOT, "scripts/run.sh"), [BINARY], { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(script, "exit");
  let output = "";
  const page = await new Promise((found, failed) => {
    const giveUp = setTimeout(() => failed(new Error(`no address of a player within the time:\n${output}`)), HANG_MS);
    const read = (text) => {
      output += text;
      const address = new RegExp(`http://${listen}/embed/[\\w-]+`).exec(output)?.[0];
      if (address) {
        clearTimeout(giveUp);
        found(address);
      }
    };
    script.stdout.setEncoding("utf8").on("data", read);
    script.stderr.setEncoding("utf8").on("data", read);
    script.on("close", (code) => failed(new Error(`ended with ${code}:\n${output}`)));
  }).catch((error) => {
    if (script.exitCode === null) process.kill(-script.pid, "SIGKILL");
    throw error;
  });
  return {
    page,
    /** Ctrl-C: sends the signal to the whole group. */
    async interrupt() {
      process.kill(-script.pid, "SIGINT");
      const [code] = await ended;
      assert.equal(code, 0, output);
    },
  };
}

async function assertPlays(address) {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 960, height: 540 } });
    const seen = await observe(page);
    await page.goto(address);
    await playUntil(page, { rate: 4, timeout_ms: HANG_MS }); // the clip has 20 s
    const { ended, errors, notice, buffered, videoFrames } = await readState(page);
    assert.deepEqual({ ended, errors, notice }, { ended: true, errors: [], notice: null });
    assert.equal(buffered.length, 1, `one range without gaps, found ${JSON.stringify(buffered)}`);
    assert.ok(videoFrames.total > 0, "frames were shown");
    const origin = new URL(address).origin;
    assert.deepEqual(seen.requests.filter((url) => !url.startsWith(origin) && !url.startsWith("blob:")), []);
    assert.deepEqual(seen.console, []);
  } finally {
    await browser.close();
  }
}
