// The player page in a frame of another site, on a real server. Needs the binary (`KINORA_BIN`, or
// target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { startKinora } from "./support/kinora.mjs";
import { ffmpeg } from "./support/site.mjs";
import { startStage } from "./support/stage.mjs";

const CLIP_S = 2;

let folder;
let stage;
let kinora;
let browser;
let embed;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kinora-frame-"));
  stage = await startStage({ files: folder });
  [kinora, browser] = await Promise.all([startKinora(), startBrowser()]);
  const picture = `-f lavfi -i testsrc2=s=320x180:r=24:d=${CLIP_S}`;
  await ffmpeg(folder, `${picture} -c:v libx264 -preset ultrafast -g 24 -pix_fmt yuv420p a.mp4`);
  const media = await kinora.create(`${stage.address}/files/a.mp4`);
  assert.equal(media.status, "Ready", JSON.stringify(media.error));
  embed = media.manifest.replace(/\/([^/]+)\.m3u8$/, "/embed/$1");
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
  await stage?.stop();
  await rm(folder, { recursive: true, force: true });
});

// Like the frames of WordPress for unknown sites (`wp_filter_oembed_result`): the page has no origin, so its
// own server is cross-origin.
for (const sandbox of ["allow-scripts", "allow-scripts allow-same-origin"]) {
  test(`plays to its end in a frame with sandbox="${sandbox}"`, async () => {
    const page = await browser.newPage();
    const said = [];
    page.on("console", (message) => message.type() === "error" && said.push(message.text()));
    const frameOf = `<iframe sandbox="${sandbox}" security="restricted" width="640" height="360" src="${embed}"></iframe>`;
    const blog = createServer((_, response) => {
      response.setHeader("content-type", "text/html").end(`<link rel="icon" href="data:,">${frameOf}`);
    }).listen(0, "127.0.0.1");
    await once(blog, "listening");
    await page.goto(`http://127.0.0.1:${blog.address().port}/`);
    const frame = await (await page.locator("iframe").elementHandle()).contentFrame();
    await frame.waitForFunction(() => customElements.get("media-controller") !== undefined, null, { timeout: HANG_MS });
    await frame.evaluate(() => {
      const video = document.querySelector("video");
      video.muted = true;
      return video.play();
    });
    await frame.waitForFunction(() => document.querySelector("video").ended, null, { timeout: HANG_MS });
    assert.deepEqual(said, []);
    await page.close();
    blog.close();
  });
}
