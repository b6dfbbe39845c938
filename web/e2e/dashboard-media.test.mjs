// The page of a media in the dashboard of a real server: player, downloads, clips. Needs `make web`, the
// binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { withPage } from "./support/dashboard.mjs";
import { fits } from "./support/fit.mjs";
import { startKinora } from "./support/kinora.mjs";
import { change, makeFiles, openMedia, uploadFile } from "./support/media.mjs";
import { toast } from "./support/tokens.mjs";

let kinora;
let browser;
let files;

before(async () => {
  files = await makeFiles();
  kinora = await startKinora();
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
  await files?.remove();
});

const open = (use, options) => withPage(browser, kinora.address, use, options);
const upload = (title, ...options) => uploadFile(kinora, files.file("clip.mp4"), title, ...options);
const playerOf = (page) => page.frameLocator("iframe.player").locator("video");

/** Plays the player of the page until its position has passed `seconds`. */
async function playTo(page, seconds) {
  const video = playerOf(page);
  await video.waitFor({ state: "attached" });
  await video.evaluate((element) => {
    element.muted = true;
    return element.play();
  });
  await video.evaluate(
    (element, seconds) => new Promise((passed) => element.addEventListener("timeupdate", () => element.currentTime > seconds && passed())),
    seconds,
  );
}

test("private media with rules on domains plays by a pass", async () => {
  const media = await upload("Private", "--private");
  await change(kinora, media, { defaultPolicy: "deny", allow: ["shop.example"] }, `/playback-ids/${media.playbackIds[0].id}/domains`);
  const { status } = await fetch(`${kinora.address}/${media.playbackIds[0].id}.m3u8`);
  assert.equal(status, 401, "without a token it does not play");
  await open(async (page) => {
    await openMedia(page, kinora, media, { role: "viewer" });
    await playTo(page, 1);
    const frames = await playerOf(page).evaluate((element) => element.getVideoPlaybackQuality().totalVideoFrames);
    assert.ok(frames > 10, `${frames} frames`);
    assert.ok(!(await page.content()).includes("alert("));
  });
});

test("ended pass is renewed before playback, not during it", async () => {
  const media = await upload("Pass");
  await open(async (page) => {
    let passes = 0;
    await page.route(
      (url) => url.pathname.endsWith("/pass"),
      async (route) => {
        passes += 1;
        const response = await route.fetch();
        const body = await response.json();
        await route.fulfill({ response, json: { ...body, data: { ...body.data, expiresAt: new Date().toISOString() } } });
      },
    );
    await openMedia(page, kinora, media);
    await playerOf(page).waitFor({ state: "attached" });
    await page.waitForResponse((response) => response.url().endsWith("/pass"));
    await playTo(page, 1);
    const before = passes;
    assert.ok(before >= 2, `${before} passes`);
    // The page looks at the player every 5 s.
    await playerOf(page).evaluate(async (element) => {
      element.loop = true;
      for (let turns = 0; turns < 2; turns += 1) await new Promise((begun) => element.addEventListener("seeked", begun, { once: true }));
    });
    assert.equal(passes, before);
  });
});

test("frame of the player becomes the thumbnail", async () => {
  const media = await upload("Thumbnail");
  await open(async (page) => {
    await openMedia(page, kinora, media);
    await playTo(page, 1.5);
    await playerOf(page).evaluate((element) => element.pause());
    await page.getByRole("button", { name: "Use this frame as the thumbnail" }).click();
    await toast(page, "The thumbnail is now the frame at");
    const { thumbnailTime } = await kinora.media(media.id);
    assert.ok(thumbnailTime > 1 && thumbnailTime <= 4, `${thumbnailTime} s`);
    await page.getByRole("button", { name: "Use the default" }).click();
    await toast(page, "The thumbnail is the default again");
    assert.equal((await kinora.media(media.id)).thumbnailTime, undefined);
  });
});

test("unfinished media becomes ready without a reload", async () => {
  const media = await upload("Becomes ready");
  await open(async (page) => {
    let isUnfinished = true;
    await page.route(
      (url) => url.pathname.endsWith(`/on-demand/${media.id}`),
      async (route) => {
        if (!isUnfinished) return route.fallback();
        const response = await route.fetch();
        const body = await response.json();
        const { playbackReport, ...data } = body.data;
        return route.fulfill({ response, json: { ...body, data: { ...data, status: "Downloading", tracks: [], duration: "00:00:00" } } });
      },
    );
    await openMedia(page, kinora, media);
    await page.getByText("The server fetches the source").waitFor();
    await fits(page, "unfinished");
    isUnfinished = false;
    await playerOf(page).waitFor({ state: "attached", timeout: HANG_MS });
  });
});

test("media without a playback ID gets one, and plays", async () => {
  const media = await upload("No playback ID");
  await kinora.ask(`/v1/on-demand/${media.id}/playback-ids?playbackId=${media.playbackIds[0].id}`, { method: "DELETE" });
  await open(async (page) => {
    await openMedia(page, kinora, media);
    await page.getByText("The media has no playback ID").waitFor();
    await fits(page, "no playback ID");
    await page.getByRole("button", { name: "Create a public playback ID" }).click();
    await playTo(page, 0.5);
    assert.equal((await kinora.media(media.id)).playbackIds.length, 1);
  });
});

test("audio plays, and has no thumbnail", async () => {
  const media = await uploadFile(kinora, files.file("tone.m4a"), "Tone");
  await open(async (page) => {
    await openMedia(page, kinora, media);
    await playTo(page, 0.5);
    assert.equal(await page.getByRole("button", { name: "Use this frame as the thumbnail" }).count(), 0);
    await fits(page, "audio");
  });
});

test("files for downloads are switched on, and their links work", async () => {
  const media = await upload("Downloads");
  await open(async (page) => {
    await openMedia(page, kinora, media);
    const card = page.getByRole("region", { name: "Downloads" });
    await card.getByRole("radio", { name: "On" }).click();
    const link = card.getByRole("link", { name: "Source" });
    await link.waitFor();
    assert.equal((await kinora.media(media.id)).sourceAccess, true);
    const { status } = await fetch(await link.getAttribute("href"), { method: "HEAD" });
    assert.equal(status, 200);
    await card.getByLabel("MP4 and audio files").selectOption("Video (MP4)");
    await card.getByRole("link", { name: "capped-4k.mp4" }).waitFor();
    assert.equal((await kinora.media(media.id)).mp4Support, "capped_4k");
  });
});

test("clip is created, listed, and opens", async () => {
  const media = await upload("Whole");
  await open(async (page) => {
    await openMedia(page, kinora, media);
    const card = page.getByRole("region", { name: "Clips" });
    await card.getByRole("button", { name: "Create a clip" }).click();
    await card.getByLabel("Start in seconds").fill("3");
    await card.getByLabel("End in seconds").fill("1");
    await card.getByRole("button", { name: "Create clip" }).click();
    await card.getByText("End in seconds must be later than startTime").waitFor();
    await card.getByLabel("Start in seconds").fill("1");
    await card.getByLabel("End in seconds").fill("3");
    await card.getByLabel("Title").fill("Middle");
    await card.getByRole("button", { name: "Create clip" }).click();
    await toast(page, "Clip created");
    await card.getByRole("link", { name: /^Clip of/ }).click();
    await page.getByRole("heading", { level: 1, name: "Middle" }).waitFor();
    await page.getByRole("link", { name: media.id }).waitFor();
  });
});
