// A playlist of media of different kinds on a real server, played in hls.js: transitions, and seeks across
// media. Needs the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { fetchAll } from "./support/fetch-all.mjs";
import { startKinora } from "./support/kinora.mjs";
import { ffmpeg } from "./support/site.mjs";
import { startStage } from "./support/stage.mjs";

/** Seconds of each media. */
const EACH_S = 4;
/**
 * This close to a transition the frame of either media is accepted: hls.js is later with each transition.
 */
const SEAM_S = 0.7;
/** What hls.js may skip at a transition, and how long a viewer may wait there. */
const JUMP_S = 0.5;
const STALL_MS = 3_000;

const picture = (color, size) => `-f lavfi -i color=${color}:s=${size}:r=25:d=${EACH_S}`;
const tone = (rate) => `-f lavfi -i sine=f=440:r=${rate}:d=${EACH_S}`;
const x264 = "-c:v libx264 -preset veryfast -g 50 -bf 2 -pix_fmt yuv420p";
/** In playback order. Audio-only media are black. */
const ITEMS = [
  { color: "red", file: "red.mp4", make: `${picture("red", "320x180")} ${tone(48_000)} ${x264} -c:a aac` },
  { color: "green", file: "green.mp4", make: `${picture("lime", "640x360")} ${x264}` },
  { color: "black", file: "tone.m4a", make: `${tone(44_100)} -c:a aac` },
  {
    color: "blue",
    file: "blue.webm",
    make: `${picture("blue", "640x360")} ${tone(48_000)} -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 50 -c:a libopus`,
  },
  { color: "red", file: "red.mp4" },
];
const LENGTH_S = EACH_S * ITEMS.length;

let folder;
let stage;
let kinora;
let browser;
let manifest;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kinora-playlist-"));
  for (const { file, make } of ITEMS) if (make !== undefined) await ffmpeg(folder, `${make} ${file}`);
  stage = await startStage({ files: folder });
  [kinora, browser] = await Promise.all([startKinora(), startBrowser()]);
  const media = [];
  for (const { file } of ITEMS) {
    const made = await kinora.create(`${stage.address}/files/${file}`);
    assert.equal(made.status, "Ready", JSON.stringify(made.error));
    media.push(made.id);
  }
  manifest = await kinora.createPlaylist(media);
  // A busy machine may encode slower than it plays, so all segments are made before playback.
  await fetchAll(manifest);
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
  await stage?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("each media plays to its end, then the next starts", async () => {
  await open("largest", async (page) => {
    // The frames shown until then explain why it did not end.
    const isOver = page.waitForFunction(() => window.read().ended || window.isOver(), undefined, { timeout: HANG_MS });
    await isOver.catch(() => {});
    const seen = await page.evaluate(() => ({ ...window.read(), shown: window.shown }));
    const told = `${JSON.stringify({ ...seen, shown: undefined })}\n${kinora.log()}`;
    assert.deepEqual(fatal(seen), [], told);
    assert.equal(seen.ended, true, told);
    assert.equal(seen.mediaError, null, told);
    for (const [from_s, to_s] of seen.jumps) assert.ok(to_s - from_s < JUMP_S, told);
    for (const { ms } of seen.stalls) assert.ok(ms < STALL_MS, told);
    assert.ok(Math.abs(seen.duration - LENGTH_S) < 0.5, told);
    assert.deepEqual(strangers(seen.shown), [], told);
    for (const [number, { color }] of ITEMS.entries()) {
      const inside = seen.shown.filter(({ at_s }) => Math.floor(at_s / EACH_S) === number);
      assert.ok(inside.some((frame) => frame.color === color), `item ${number} is ${color}: ${told}`);
    }
  });
});

test("hls.js with default settings plays every media to the last", async () => {
  await open(
    "largest",
    async (page) => {
      const isThere = (last_s) => window.isOver() || window.shown.some(({ at_s }) => last_s < at_s);
      await page.waitForFunction(isThere, LENGTH_S - EACH_S / 2, { timeout: HANG_MS }).catch(() => {});
      const seen = await page.evaluate(() => ({ ...window.read(), shown: window.shown }));
      const told = `${JSON.stringify({ ...seen, shown: undefined })}\n${kinora.log()}`;
      assert.deepEqual(fatal(seen), [], told);
      assert.deepEqual(strangers(seen.shown), [], told);
      for (const [number, { color }] of ITEMS.entries()) {
        const inside = seen.shown.filter(({ at_s }) => Math.floor(at_s / EACH_S) === number);
        assert.ok(inside.some((frame) => frame.color === color), `item ${number} is ${color}: ${told}`);
      }
    },
    {},
  );
});

test("seek across media shows the right frame at both sizes", async () => {
  for (const size of ["smallest", "largest"]) {
    await open(size, async (page) => {
      for (const number of [3, 0, 4, 1, 2]) {
        await page.evaluate((at_s) => {
          window.shown.length = 0;
          document.getElementById("video").currentTime = at_s;
        }, (number + 0.5) * EACH_S);
        const isThere = ({ color, from_s, to_s }) =>
          window.isOver() || window.shown.some((frame) => frame.color === color && from_s < frame.at_s && frame.at_s < to_s);
        const wanted = { color: ITEMS[number].color, from_s: number * EACH_S, to_s: (number + 1) * EACH_S };
        await page.waitForFunction(isThere, wanted, { timeout: HANG_MS });
        const seen = await page.evaluate(() => window.read());
        assert.deepEqual(fatal(seen), [], `item ${number}: ${JSON.stringify(seen)}\n${kinora.log()}`);
      }
    });
  }
});

/**
 * Lets hls.js detect the end of the stream. hls.js reads no edit list, so at each transition it leaves a
 * hole as long as the frame reordering. It jumps over the hole. But it never ends the stream while a hole
 * below this maximum remains (D-0073).
 */
const TELLS_ITS_END = { maxBufferHole: 0 };

/** Plays the playlist in its own page, which records the colour of each frame. */
async function open(start, watch, settings = TELLS_ITS_END) {
  const context = await browser.newContext({ viewport: { width: 640, height: 360 } });
  try {
    const page = await context.newPage();
    await page.goto(`${stage.address}/trial.html`);
    await page.waitForFunction(() => window.isReady);
    await page.evaluate(
      ({ manifest, start, settings }) => {
        const video = document.getElementById("video");
        const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        window.shown = [];
        const nameOf = ([red, green, blue]) => {
          const [low, high] = [80, 150];
          if (Math.max(red, green, blue) < low) return "black";
          const named = { red, green, blue };
          const loud = Object.keys(named).filter((name) => named[name] > high);
          return loud.length === 1 ? loud[0] : `${red},${green},${blue}`;
        };
        const note = (_, { mediaTime }) => {
          canvas.drawImage(video, 0, 0, 1, 1);
          window.shown.push({ at_s: mediaTime, color: nameOf(canvas.getImageData(0, 0, 1, 1).data) });
          video.requestVideoFrameCallback(note);
        };
        video.requestVideoFrameCallback(note);
        Object.assign(Hls.DefaultConfig, settings);
        window.isOver = () => window.read().errors.some((error) => error.startsWith("fatal"));
        window.begin({ engine: "hls.js", address: manifest, start, switches: [] });
      },
      { manifest, start, settings },
    );
    await page.waitForFunction(() => window.shown.length > 0 || window.isOver(), undefined, { timeout: HANG_MS });
    await watch(page);
  } finally {
    await context.close();
  }
}

function fatal({ errors }) {
  return errors.filter((error) => error.startsWith("fatal"));
}

/** Frames whose colour is not the colour of the media at their time. */
function strangers(shown) {
  return shown.filter(({ at_s, color }) => {
    const near = [at_s - SEAM_S, at_s + SEAM_S].map((time) => ITEMS[Math.min(Math.max(Math.floor(time / EACH_S), 0), ITEMS.length - 1)]);
    return !near.some((item) => item.color === color);
  });
}
