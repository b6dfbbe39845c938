// A video with a watermark on the player page of a real server: what Chromium shows of it. Needs the
// binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { startKinora } from "./support/kinora.mjs";
import { ffmpeg } from "./support/site.mjs";
import { startStage } from "./support/stage.mjs";

const LOOK_EVERY_MS = 100;
/** Distance of a sample from an edge of the image, as a share of the frame: 6 pixels of 360. */
const INSET = 6 / 360;

let folder;
let stage;
let kinora;
let browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kinora-watermark-"));
  stage = await startStage({ files: folder });
  [kinora, browser] = await Promise.all([startKinora(), startBrowser()]);
  await ffmpeg(folder, "-f lavfi -i color=0x00a000:s=640x360:r=24:d=4 -c:v libx264 -pix_fmt yuv420p film.mp4");
  await ffmpeg(folder, "-f lavfi -i color=red:s=64x36 -frames:v 1 logo.png");
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
  await stage?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The media when it is ready. */
async function create(watermark) {
  const inputs = [
    { type: "video", url: `${stage.address}/files/film.mp4` },
    { type: "watermark", url: `${stage.address}/files/logo.png`, ...watermark },
  ];
  const body = JSON.stringify({ inputs, accessPolicy: "public" });
  const { id } = await kinora.ask("/v1/on-demand", { method: "POST", body });
  const until = Date.now() + HANG_MS;
  for (;;) {
    const media = await kinora.media(id);
    if (media.status === "Ready") return media;
    assert.ok(media.status !== "Failed" && Date.now() < until, JSON.stringify(media));
    await sleep(LOOK_EVERY_MS);
  }
}

/** Which of these points, shares of width and height, are red in a frame that the player shows. */
async function redPoints(media, points) {
  const page = await browser.newPage({ viewport: { width: 640, height: 360 } });
  await page.goto(`${kinora.address}/embed/${media.playbackIds[0].id}`);
  await page.evaluate(() => {
    const video = document.querySelector("video");
    video.muted = true;
    return video.play();
  });
  await page.waitForFunction(() => document.querySelector("video").currentTime > 0.5, null, { timeout: HANG_MS });
  const red = await page.evaluate((places) => {
    const video = document.querySelector("video");
    const canvas = document.createElement("canvas");
    canvas.width = video.videoWidth;
    canvas.height = video.videoHeight;
    const context = canvas.getContext("2d");
    context.drawImage(video, 0, 0);
    return places.map(([x, y]) => {
      const [r, g] = context.getImageData(Math.round(x * canvas.width), Math.round(y * canvas.height), 1, 1).data;
      return r > 150 && g < 100;
    });
  }, points);
  await page.close();
  return red;
}

// A box of 20 % by 20 %: an image of 16:9 on a frame of 16:9.
const boxes = [
  { xAlign: "right", yAlign: "bottom", left: 0.75, top: 0.75 },
  { xAlign: "left", yAlign: "top", left: 0.05, top: 0.05 },
  { xAlign: "center", yAlign: "middle", left: 0.4, top: 0.4 },
];
for (const { xAlign, yAlign, left, top } of boxes) {
  test(`Chromium shows the image at the ${xAlign} ${yAlign}`, async () => {
    const margins = xAlign === "center" ? {} : { xMargin: "5%", yMargin: "5%" };
    const media = await create({ placement: { xAlign, yAlign, ...margins }, width: "20%" });
    const edges = [left, left + 0.2].flatMap((x) => [top, top + 0.2].map((y) => [x, y]));
    const towards = (share) =>
      edges.map(([x, y]) => [
        x + (x === left ? share : -share),
        y + (y === top ? share : -share),
      ]);
    const seen = await redPoints(media, [...towards(INSET), ...towards(-INSET)]);
    assert.deepEqual(seen, [true, true, true, true, false, false, false, false]);
  });
}
