// Every kind of source on a real server, played in hls.js and in shaka-player, with rung changes down and
// up. Needs the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.
//
// By default three kinds play, judged by content only, on any machine. With `KINORA_E2E_ALL` all kinds play,
// and stalls count too.
//
// A busy machine may encode slower than it plays, so all segments are made before playback. With
// `KINORA_E2E_COLD` (`npm run test:cold`, on an otherwise idle machine) they are made during playback, and
// there are more kinds.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { clips, clipsIn, further, refused } from "./support/clips.mjs";
import { fetchAll } from "./support/fetch-all.mjs";
import { startKinora } from "./support/kinora.mjs";
import { perform, startStage } from "./support/stage.mjs";
import { contentFaults, faults, IS_TIMED } from "./support/verdict.mjs";

const IS_COLD = Boolean(process.env.KINORA_E2E_COLD);
const isTimed = IS_COLD || IS_TIMED;
/** A copied one, an encoded one, and one in a container that is not ISO BMFF. */
const FEW = ["H.264 with B-frames in MP4", "ProRes with PCM in QuickTime", "Matroska"];
/** Earliest times of the rung changes. After both, something is left to load. */
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

/** Makes the clip and a media of it, once per kind. */
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

/**
 * shaka-player starts with the largest rung that announces less than its default estimate of 1 Mb/s. The
 * largest rung of these kinds announces more.
 */
const BEGIN_SMALL = new Set(["VP9 with Opus in WebM", "open GOP", "a GOP of 11 s", "ProRes with PCM in QuickTime"]);

const names = IS_COLD ? Object.keys({ ...clips, ...further }) : IS_TIMED ? Object.keys(clips) : FEW;
/** Playback is in real time, so two cores can play several at once, unless they encode. */
const concurrency = IS_COLD ? 1 : IS_TIMED ? 4 : 2 * FEW.length;

describe("sources", { concurrency }, () => {
  for (const name of names) {
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
  const trial = { engine, address: manifest, start, switches, toleratesStalls: !isTimed };
  const seen = await perform(browser, stage, trial, { timeout_ms: HANG_MS });
  const wanted = {
    sizes: played.map((rung) => expected[rung]).filter((size) => size !== null),
    seconds: expected.seconds ?? seen.duration,
    frames: expected.frames ?? undefined,
  };
  const found = isTimed ? faults(seen, wanted) : contentFaults(seen, wanted);
  assert.deepEqual(found, [], `${JSON.stringify(seen)}\n${kinora.log()}`);
}
