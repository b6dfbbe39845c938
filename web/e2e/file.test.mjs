// The MP4 file of a media on a real server: a plain video element seeks in it. Needs the binary
// (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { startKinora } from "./support/kinora.mjs";
import { ffmpeg } from "./support/site.mjs";
import { startStage } from "./support/stage.mjs";

const CLIP_S = 40;
/** Seconds for which the upper half of the frame has one brightness; noise below it makes the file long. */
const LEVEL_S = 4;
const LEVEL_STEP = 20;
const BLACK = 16;
const SEEK_S = 0.75 * CLIP_S + 1;

let folder;
let stage;
let kinora;
let browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kinora-file-"));
  stage = await startStage({ files: folder });
  [kinora, browser] = await Promise.all([startKinora(), startBrowser()]);
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
  await stage?.stop();
  await rm(folder, { recursive: true, force: true });
});

const PICTURE =
  `-f lavfi -i nullsrc=s=320x180:r=10:d=${CLIP_S},` +
  `geq=lum='if(lt(Y,90),${BLACK}+${LEVEL_STEP}*floor(T/${LEVEL_S}),random(1)*255)':cb=128:cr=128`;
const SOUND = `-f lavfi -i sine=f=440:r=48000:d=${CLIP_S}`;

test("seeking in a copied source requests byte ranges", async () => {
  await ffmpeg(folder, `${PICTURE} ${SOUND} -c:v libx264 -preset ultrafast -crf 24 -bf 2 -g 20 -pix_fmt yuv420p -c:a aac a.mp4`);
  const { file, length } = await fileOf("a.mp4");
  const starts = await windsTo(file);
  assert.ok(starts.some((start) => start > length / 2), `asked for bytes from ${starts} of ${length} on`);
});

test("seeking in an encoded source shows the right frame", async () => {
  await ffmpeg(folder, `${PICTURE} ${SOUND} -c:v mpeg4 -q:v 3 -g 20 -c:a flac b.mkv`);
  const { file } = await fileOf("b.mkv");
  await windsTo(file);
});

/** Creates a media, requests its MP4 file, and waits for it; returns its URL and length. */
async function fileOf(name) {
  const media = await kinora.create(`${stage.address}/files/${name}`);
  assert.equal(media.status, "Ready", JSON.stringify(media.error));
  const wish = { method: "PATCH", body: JSON.stringify({ mp4Support: "capped_4k" }) };
  await kinora.ask(`/v1/on-demand/${media.id}/update-mp4Support`, wish);
  const file = media.manifest.replace(/\.m3u8$/, "/capped-4k.mp4");
  const until = Date.now() + HANG_MS;
  for (;;) {
    const answer = await fetch(file, { method: "HEAD" });
    if (answer.ok) return { file, length: Number(answer.headers.get("content-length")) };
    assert.ok(answer.status === 404 && Date.now() < until, `${file} answers ${answer.status}\n${kinora.log()}`);
    await new Promise((waited) => setTimeout(waited, 1000 * Math.min(1, Number(answer.headers.get("retry-after")))));
  }
}

/** Seeks, checks the frame, and plays on from there. Returns the starts of the requested ranges. */
async function windsTo(file) {
  const page = await browser.newPage();
  const starts = [];
  page.on("request", (request) => {
    const range = request.headers().range;
    if (range !== undefined) starts.push(Number(/^bytes=(\d+)-/.exec(range)?.[1] ?? 0));
  });
  try {
    await page.goto(`${stage.address}/trial.html`);
    const seen = await page.evaluate(
      async ({ file, seek, timeout }) => {
        const video = document.createElement("video");
        Object.assign(video, { crossOrigin: "anonymous", preload: "metadata", muted: true });
        const told = (name) =>
          new Promise((resolve, reject) => {
            const late = setTimeout(() => reject(new Error(`no ${name}: ${video.error?.message}`)), timeout);
            video.addEventListener(name, () => (clearTimeout(late), resolve()), { once: true });
            video.addEventListener("error", () => reject(new Error(video.error.message)), { once: true });
          });
        document.body.append(video);
        const known = told("loadedmetadata");
        video.src = file;
        await known;
        const sought = told("seeked");
        video.currentTime = seek;
        await sought;
        const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
        const context = canvas.getContext("2d");
        context.drawImage(video, 0, 0);
        const { data } = context.getImageData(8, 8, 64, 16);
        let sum = 0;
        for (let at = 0; at < data.length; at += 4) sum += data[at];
        const moved = new Promise((resolve) => {
          const look = () => (video.currentTime > seek + 0.5 ? resolve() : requestAnimationFrame(look));
          look();
        });
        await video.play();
        await moved;
        return { brightness: (4 * sum) / data.length, duration: video.duration, size: [video.videoWidth, video.videoHeight] };
      },
      { file, seek: SEEK_S, timeout: HANG_MS },
    );
    const level = LEVEL_STEP * Math.floor(SEEK_S / LEVEL_S);
    const expected = (level * 255) / 219;
    assert.ok(Math.abs(seen.brightness - expected) < 8, `brightness ${seen.brightness}, not ${expected}`);
    assert.ok(Math.abs(seen.duration - CLIP_S) < 0.2, `${seen.duration} s`);
    assert.ok(seen.size[0] * 9 === seen.size[1] * 16 || seen.size[0] === 426, `${seen.size}`);
  } finally {
    await page.close();
  }
  return starts;
}
