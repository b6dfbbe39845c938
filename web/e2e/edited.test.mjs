// A video of several parts from a real server in hls.js and in shaka-player, with rung changes down and up:
// one buffered range. Needs the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { clipsIn } from "./support/clips.mjs";
import { fetchAll } from "./support/fetch-all.mjs";
import { startKinora } from "./support/kinora.mjs";
import { perform, startStage } from "./support/stage.mjs";
import { contentFaults, faults, IS_TIMED } from "./support/verdict.mjs";

const FILM = "H.264 with B-frames in MP4";
/** Other sizes, frame rates and codecs; the last one has no audio. */
const OTHERS = ["VP9 with Opus in WebM", "23.976 frames a second", "variable frame rate, turned, without sound"];
/** shaka-player starts with the largest rung that announces less than its default estimate of 1 Mb/s. */
const ENGINES = [
  { engine: "hls.js", start: "largest", rungs: ["smallest", "largest"] },
  { engine: "shaka", start: "smallest", rungs: ["largest", "smallest"] },
];

let folder;
let stage;
let kinora;
let browser;
let film;
let media;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kinora-edited-"));
  stage = await startStage({ files: folder });
  [kinora, browser] = await Promise.all([startKinora(), startBrowser()]);
  const clip = clipsIn(folder);
  film = await clip(FILM);
  const url = ({ file }) => `${stage.address}/files/${file}`;
  const parts = [];
  for (const name of OTHERS) parts.push(url(await clip(name)));
  media = await kinora.create(url(film), {
    startTime: 1.02,
    expungeSegments: ["4-6.5"],
    introUrl: parts[0],
    segments: [{ url: parts[1], insertAt: 8 }],
    outroUrl: parts[2],
  });
  await fetchAll(media.manifest); // all segments are made before playback
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
  await stage?.stop();
  await rm(folder, { recursive: true, force: true });
});

for (const { engine, start, rungs } of ENGINES) {
  test(`several parts play as one buffered range in ${engine}`, async () => {
    const switches = [3.5, 20.5].map((at_s, number) => ({ at_s, rung: rungs[number] }));
    const trial = { engine, address: media.manifest, start, switches, toleratesStalls: !IS_TIMED };
    const seen = await perform(browser, stage, trial, { timeout_ms: HANG_MS });
    const sizes = [start, ...rungs].map((rung) => film[rung]);
    const wanted = { sizes, seconds: seen.duration };
    const found = IS_TIMED ? faults(seen, wanted) : contentFaults(seen, wanted);
    assert.deepEqual(found, [], `${JSON.stringify(seen)}\n${kinora.log()}`);
  });
}
