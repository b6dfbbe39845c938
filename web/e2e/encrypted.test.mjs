// Encrypted playback from a real server in hls.js and in shaka-player, with rung changes down and up. Needs
// the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { sign } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { clipsIn } from "./support/clips.mjs";
import { fetchAll } from "./support/fetch-all.mjs";
import { startKinora } from "./support/kinora.mjs";
import { perform, startStage } from "./support/stage.mjs";
import { contentFaults, faults, IS_TIMED } from "./support/verdict.mjs";

const CLIP = "H.264 with B-frames in MP4";
const SWITCHES = [
  { at_s: 0.5, rung: "smallest" },
  { at_s: 4.5, rung: "largest" },
];

let folder;
let stage;
let kinora;
let browser;
let clip;
let media;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kinora-encrypted-"));
  stage = await startStage({ files: folder });
  [kinora, browser] = await Promise.all([startKinora(), startBrowser()]);
  clip = await clipsIn(folder)(CLIP);
  media = await kinora.create(`${stage.address}/files/${clip.file}`);
  await fetchAll(media.manifest); // all segments are made before playback
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
  await stage?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe("what is encrypted", { concurrency: 4 }, () => {
  for (const engine of ["hls.js", "shaka"]) {
    for (const accessPolicy of ["public", "private"]) {
      test(`${accessPolicy}: plays in ${engine}`, () => check(engine, accessPolicy));
    }
  }
});

async function check(engine, accessPolicy) {
  const body = JSON.stringify({ accessPolicy, encryption: "aes-128" });
  const { id } = await kinora.ask(`/v1/on-demand/${media.id}/playback-ids`, { method: "POST", body });
  const query = accessPolicy === "private" ? `?token=${await tokenFor(id)}` : "";
  const address = `${kinora.address}/${id}.m3u8${query}`;
  await isEncrypted(address);
  const trial = { engine, address, start: "largest", switches: SWITCHES, toleratesStalls: !IS_TIMED };
  const seen = await perform(browser, stage, trial, { timeout_ms: HANG_MS });
  const { largest, smallest, frames, seconds } = clip;
  const wanted = { sizes: [largest, smallest, largest], seconds, frames };
  const found = IS_TIMED ? faults(seen, wanted) : contentFaults(seen, wanted);
  assert.deepEqual(found, [], `${JSON.stringify(seen)}\n${kinora.log()}`);
}

/** Every playlist of a stream has a key in front of each file. */
async function isEncrypted(manifest) {
  const text = await (await fetch(manifest)).text();
  const playlists = [...text.matchAll(/^[^#\s].*$|\bURI="([^"]+)"/gm)].map(([line, uri]) => new URL(uri ?? line, manifest));
  assert.ok(playlists.length > 2, text);
  for (const playlist of playlists) {
    const lines = (await (await fetch(playlist)).text()).split("\n");
    const keys = lines.filter((line) => line.startsWith("#EXT-X-KEY:METHOD=AES-128,"));
    const files = lines.filter((line) => /^#EXT-X-MAP|^[^#]/.test(line));
    assert.ok(keys.length === files.length && files.length > 1, `${playlist}: ${keys.length} of ${files.length}`);
  }
}

/** A token, made as the documentation describes. */
async function tokenFor(playbackId) {
  const { id: kid, privateKey } = await kinora.ask("/v1/iam/signing-keys", { method: "POST" });
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { aud: `media:${playbackId}`, exp: Math.floor(Date.now() / 1000) + 3600 };
  const message = `${part({ alg: "RS256", typ: "JWT", kid })}.${part(claims)}`;
  const pem = Buffer.from(privateKey, "base64");
  return `${message}.${sign("RSA-SHA256", message, pem).toString("base64url")}`;
}
