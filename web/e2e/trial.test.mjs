// Tests of the trial itself: it accepts a valid stream and finds each kind of fault, in both players. Needs
// ffmpeg and Chromium.

import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { ffmpeg } from "./support/site.mjs";
import { perform, startStage } from "./support/stage.mjs";
import { contentFaults, faults } from "./support/verdict.mjs";

const SECONDS = 6;
const SEGMENT_S = 1.5;
const TIMESCALE = 15_360; // ffmpeg's for 30 frames a second
const LARGE = "320x180";
const SMALL = "160x90";
/** At least the last of the four segments is from the small rung. */
const DOWN = [{ at_s: 0.5, rung: "smallest" }];

const HELD_MS = 1_500;
const HOPELESS_MS = 2_500;

let folder;
let stage;
let browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kinora-trial-"));
  await makeStream("sound");
  stage = await startStage({ files: folder });
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await stage?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Changes to a valid stream, by the name of the resulting fault. */
const breaks = {
  "a stream whose segments all begin at 0": {
    break: (path) => each([0, 1, 2, 3], (n) => moveSegment(`${path}/large-${n}.m4s`, -n * SEGMENT_S)),
  },
  "a rung that is late by more than a frame": {
    break: (path) => each([0, 1, 2, 3], (n) => moveSegment(`${path}/small-${n}.m4s`, 0.3)),
    switches: DOWN,
  },
  "a segment that is not media": {
    break: (path) => writeFile(`${path}/large-2.m4s`, Buffer.alloc(4_000, 7)),
  },
  "a segment that is missing": {
    break: (path) => rm(`${path}/small-3.m4s`),
    switches: DOWN,
  },
  "a stream that is shorter than its clip": {
    break: async (path) => {
      for (const part of ["large", "tone"]) {
        const playlist = await readFile(`${path}/${part}.m3u8`, "utf8");
        await writeFile(`${path}/${part}.m3u8`, playlist.replace(/#EXTINF.*\n.*-3.m4s\n/, ""));
      }
    },
  },
};

// The number that two cores can play without stalls of their own.
describe("both players", { concurrency: 6 }, () => {
  for (const engine of ["hls.js", "shaka"]) {
    test(`${engine}: valid stream has no fault at rung changes`, async () => {
      const seen = await play(engine, "sound", DOWN);
      assert.deepEqual(faults(seen, { seconds: SECONDS, sizes: [LARGE, SMALL], frames: 30 * SECONDS }), []);
    });

    test(`${engine}: missing rung is a fault`, async () => {
      const seen = await play(engine, "sound");
      const found = faults(seen, { seconds: SECONDS, sizes: [LARGE, SMALL] });
      assert.deepEqual(found, [`other sizes: ${LARGE} in place of ${LARGE},${SMALL}`]);
    });

    for (const [index, [name, { break: damage, switches }]] of Object.entries(breaks).entries()) {
      test(`${engine}: ${name} is a fault`, async (t) => {
        const stream = `${engine}-${index}`;
        await cp(join(folder, "sound"), join(folder, stream), { recursive: true });
        await damage(join(folder, stream));
        const seen = await play(engine, stream, switches);
        const wanted = { seconds: SECONDS, sizes: seen.sizes.map(({ size }) => size), frames: 30 * SECONDS };
        t.diagnostic(faults(seen, wanted).join("; "));
        // Found without timing, too.
        assert.notDeepEqual(contentFaults(seen, wanted), [], JSON.stringify(seen));
      });
    }

    test(`${engine}: wait for a segment is a fault with its duration`, async () => {
      const stream = `${engine}-late`;
      await cp(join(folder, "sound"), join(folder, stream), { recursive: true });
      let release;
      const released = new Promise((resolve) => (release = resolve));
      for (const part of ["large", "tone"]) stage.holds.set(`/files/${stream}/${part}-3.m4s`, released);
      // The duration as measured outside: from the last observation before the stall to the first one after
      // it.
      const held = { from_ms: Date.now(), to_ms: null };
      const seen = await play(engine, stream, [], ({ position, stalls }) => {
        if (position < 4.3) held.from_ms = Date.now();
        if (position > 4.7) held.to_ms ??= Date.now();
        if (stalls.some(({ at_s, ms }) => at_s > 4 && ms >= HELD_MS)) release();
      });
      const { at_s, ms } = seen.stalls.reduce((longest, stall) => (stall.ms > longest.ms ? stall : longest));
      assert.ok(Math.abs(at_s - 4.5) < 0.2, JSON.stringify(seen.stalls));
      const most_ms = (held.to_ms ?? Date.now()) - held.from_ms;
      assert.ok(ms >= HELD_MS && ms <= most_ms, `${ms} ms of ${HELD_MS} to ${most_ms}`);
      const found = faults(seen, { seconds: SECONDS, sizes: [LARGE] });
      assert.ok(found.includes(`stalled: ${ms} ms at ${at_s} s`), found.join("; "));
    });
  }
});

function play(engine, stream, switches = [], look = () => {}) {
  const trial = { engine, address: `${stage.address}/files/${stream}/master.m3u8`, switches };
  const until = (seen) => {
    look(seen);
    return seen.stalls.some(({ ms }) => ms > HOPELESS_MS);
  };
  return perform(browser, stage, trial, { until, timeout_ms: HANG_MS });
}

/** Two video rungs and one audio track, each with its own segments. */
async function makeStream(name) {
  const hls = (part) =>
    `-f hls -hls_time ${SEGMENT_S} -hls_playlist_type vod -hls_segment_type fmp4 -hls_fmp4_init_filename ${part}.mp4 ` +
    `-hls_segment_filename ${part}-%d.m4s ${part}.m3u8`;
  const picture = (size) =>
    `-f lavfi -i testsrc2=s=${size}:r=30:d=${SECONDS} -c:v libx264 -preset ultrafast -g ${30 * SEGMENT_S} -pix_fmt yuv420p`;
  const path = join(folder, name);
  await mkdir(path);
  await ffmpeg(path, `${picture(LARGE)} ${hls("large")}`);
  await ffmpeg(path, `${picture(SMALL)} ${hls("small")}`);
  await ffmpeg(path, `-f lavfi -i sine=f=440:r=48000:d=${SECONDS} -c:a aac ${hls("tone")}`);
  // Without CLOSED-CAPTIONS shaka-player looks for them in the first, middle and last segment before it
  // plays.
  const attributes = `CODECS="avc1.42c00d,mp4a.40.2",AUDIO="a",CLOSED-CAPTIONS=NONE`;
  const variant = (part, size, bandwidth) =>
    `#EXT-X-STREAM-INF:BANDWIDTH=${bandwidth},RESOLUTION=${size},${attributes}\n${part}.m3u8\n`;
  const audio = `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Tone",DEFAULT=YES,AUTOSELECT=YES,URI="tone.m3u8"\n`;
  const variants = variant("large", LARGE, 800_000) + variant("small", SMALL, 300_000);
  await writeFile(`${path}/master.m3u8`, `#EXTM3U\n#EXT-X-INDEPENDENT-SEGMENTS\n${audio}${variants}`);
}

/** Adds to the start time in a segment. */
async function moveSegment(file, by_s) {
  const bytes = await readFile(file);
  const box = bytes.indexOf("tfdt");
  assert.equal(bytes[box + 4], 1, "64 bits");
  const time = box + 8;
  bytes.writeBigUInt64BE(bytes.readBigUInt64BE(time) + BigInt(Math.round(by_s * TIMESCALE)), time);
  await writeFile(file, bytes);
}

function each(items, work) {
  return Promise.all(items.map(work));
}
