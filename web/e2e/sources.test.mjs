// Every kind of source on a real server, played in hls.js and in shaka-player, with the rung changed down and up on the way.
// Needs the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.
//
// A busy machine may need longer to encode than to play, so all is made before it is played. With `KINORA_E2E_COLD` (`npm run
// test:cold`, for a machine that does nothing else) it is made while it is played, and there are more kinds.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startBrowser } from "./support/browser.mjs";
import { clips, clipsIn, further, refused } from "./support/clips.mjs";
import { fetchAll } from "./support/fetch-all.mjs";
import { startKinora } from "./support/kinora.mjs";
import { perform, startStage } from "./support/stage.mjs";
import { faults } from "./support/verdict.mjs";

const IS_COLD = Boolean(process.env.KINORA_E2E_COLD);
/** Beyond what a clip lasts: what it may need to be made, to begin, and to wait for. */
const TIMEOUT_MS = 45_000;
/** When the rung is changed at the earliest. Both leave something to load. */
const SWITCHES_S = [0.5, 4.5];

let folder;
let stage;
let kinora;
let browser;
let clip;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kinora-sources-"));
  clip = clipsIn(folder);
  stage = await startStage({ files: folder });
  [kinora, browser] = await Promise.all([startKinora(), startBrowser()]);
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
  await stage?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Makes the clip and a media of it; each kind once, whoever asks first. */
const media = new Map();
function mediaOf(name) {
  if (!media.has(name)) {
    media.set(
      name,
      clip(name).then(async ({ file }) => {
        const made = await kinora.create(`${stage.address}/files/${file}`);
        if (made.status === "Ready" && !IS_COLD) await fetchAll(made.manifest);
        return made;
      }),
    );
  }
  return media.get(name);
}

/** shaka-player begins with the largest that announces less than the 1 Mb/s it supposes. Of these the largest announces more. */
const BEGIN_SMALL = new Set(["VP9 with Opus in WebM", "open GOP", "a GOP of 11 s", "ProRes with PCM in QuickTime"]);

// Each plays in real time, and two cores have time for some beside each other, unless they encode.
describe("sources", { concurrency: IS_COLD ? 1 : 4 }, () => {
  for (const name of Object.keys(IS_COLD ? { ...clips, ...further } : clips)) {
    test(`${name}: plays in hls.js`, () => check(name, "hls.js", "largest"));
    const start = BEGIN_SMALL.has(name) ? "smallest" : "largest";
    test(`${name}: plays in shaka-player`, () => check(name, "shaka", start));
  }

  for (const name of Object.keys(refused)) {
    test(`${name}: fails`, async () => {
      assert.equal((await mediaOf(name)).status, "Failed");
    });
  }
});

async function check(name, engine, start) {
  const { status, error, manifest } = await mediaOf(name);
  assert.equal(status, "Ready", JSON.stringify(error));
  const expected = await clip(name);
  const rungs = start === "largest" ? ["largest", "smallest", "largest"] : ["smallest", "largest", "smallest"];
  const played = rungs.slice(0, 1 + expected.changes);
  const switches = played.slice(1).map((rung, n) => ({ at_s: SWITCHES_S[n], rung }));
  const trial = { engine, address: manifest, start, switches };
  const seen = await perform(browser, stage, trial, { timeout_ms: TIMEOUT_MS });
  const wanted = {
    sizes: played.map((rung) => expected[rung]).filter((size) => size !== null),
    seconds: expected.seconds ?? seen.duration,
    frames: expected.frames ?? undefined,
  };
  assert.deepEqual(faults(seen, wanted), [], `${JSON.stringify(seen)}\n${kinora.log()}`);
}
