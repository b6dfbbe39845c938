// The page of a media in the dashboard of a real server: player, downloads, clips. Needs `make web`, the
// binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { HANG_MS } from "./support/browser.mjs";
import { makeBusy } from "./support/busy.mjs";
import { setUp, toast } from "./support/dashboard.mjs";
import { fits } from "./support/fit.mjs";
import { change, makeFiles, openMedia, pagePath, playerOf, uploadFile } from "./support/media.mjs";
import { start } from "./support/start.mjs";

const { kinora, files, open } = await start({ files: makeFiles });
const upload = (title, ...options) => uploadFile(kinora, files.file("clip.mp4"), title, ...options);

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

test("head says where the page is, the state, and how many entries each tab has", async () => {
  const media = await upload("\u{1F3AC}".repeat(120));
  await open(async (page) => {
    await page.route(/\/media\/[^/]+\/events/, async (route) => {
      const events = Array.from({ length: 50 }, (_, place) => ({ id: `${place}`, type: "video.media.updated", at: media.createdAt, data: {}, deliveries: [] }));
      await route.fulfill({ json: { success: true, data: { events, nextCursor: "older" } } });
    });
    await openMedia(page, kinora, media);
    const tabs = page.getByRole("navigation", { name: "This media" });
    await tabs.getByRole("link", { name: /^Renditions ?3$/ }).waitFor();
    await tabs.getByRole("link", { name: /^Events ?50\+$/ }).waitFor();
    await tabs.getByRole("link", { name: "Code" }).click();
    await page.reload();
    await tabs.getByRole("link", { name: /^Renditions ?3$/ }).waitFor();
    await tabs.getByRole("link", { name: /^Events ?50\+$/ }).waitFor();
    await page.locator(".head .tag.ok").getByText("Ready", { exact: true }).waitFor();

    const heading = page.getByRole("heading", { level: 1 });
    assert.equal(await heading.getAttribute("title"), media.title);
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 860 });
      const lines = await heading.evaluate((element) => element.clientHeight / Number.parseFloat(getComputedStyle(element).lineHeight));
      assert.ok(lines < 2.1, `${lines} lines at ${width} px`);
    }
    // On a narrow screen.
    await page.locator("header").getByRole("link", { name: "Library", exact: true }).waitFor();
    await page.setViewportSize({ width: 1280, height: 860 });
    const path = page.getByRole("navigation", { name: "Breadcrumb" });
    await path.getByText(media.title).waitFor();
    await path.getByRole("link", { name: "Library" }).click();
    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    assert.equal(await path.count(), 0);
  });
});

test("narrow screen: the open tab is in view", async () => {
  const media = await upload("Narrow");
  await open(async (page) => {
    await page.setViewportSize({ width: 360, height: 800 });
    await openMedia(page, kinora, media, { tab: "code" });
    const tab = page.getByRole("navigation", { name: "This media" }).locator("[aria-current]");
    await tab.evaluate(
      (element) => new Promise((seen) => new IntersectionObserver(([entry]) => entry.isIntersecting && seen(), { threshold: 0.98 }).observe(element)),
    );
    assert.equal(await page.evaluate(() => scrollY), 0, "the page stays");
  });
});

test("overview has the renditions as a table at 1280 px, each named once", async () => {
  const media = await upload("Table");
  await open(async (page) => {
    await openMedia(page, kinora, media);
    const table = page.getByRole("table", { name: "Renditions" });
    await table.getByRole("columnheader", { name: "Method" }).waitFor(); // hidden where the table is folded
    const names = await table.locator("tbody tr > :first-child").allInnerTexts();
    assert.deepEqual(names, ["360p Video", "240p Video", "Audio"]);
    const { hangs, wide } = await table.evaluate((element) => ({ hangs: element.scrollWidth, wide: element.parentElement.clientWidth }));
    assert.ok(hangs <= wide, `${hangs} px in ${wide} px`);
  });
});

test("server that is too busy: the page says so, counts down, and tries again", async () => {
  const media = await upload("Busy");
  await open(
    async (page) => {
      await setUp(kinora, page);
      let isBusy = true;
      await makeBusy(page, (url) => url.pathname.endsWith(`/on-demand/${media.id}`), () => isBusy, { retryAfter: 30 });
      await page.goto(kinora.address + pagePath(media));
      await page.getByText("The server is busy.").waitFor();
      await page.getByText(/^Trying again in \d+ s$/).waitFor();
      await page.getByText("Request busy-1").waitFor();
      await page.getByRole("heading", { level: 1, name: "Media" }).waitFor();
      await fits(page, "busy");
      isBusy = false;
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { level: 1, name: "Busy" }).waitFor();
    },
    { mayLoseConnections: true },
  );
});

test("renditions that are watched elsewhere are shown without a reload", async () => {
  const media = await upload("Watched elsewhere");
  await open(async (page) => {
    let lastWatchedAt = null;
    await page.route(/\/dashboard\/api\/.*\/renditions$/, (route) => {
      const rendition = { type: "video", method: "encoded", resolution: "240p", segments: 9, bytes: 0, isBroken: false };
      const renditions = [{ ...rendition, name: "240p", segmentsMade: lastWatchedAt === null ? 0 : 3, lastWatchedAt }];
      return route.fulfill({ json: { success: true, data: { playbackReport: null, renditions } } });
    });
    await setUp(kinora, page);
    await page.clock.install();
    await page.goto(kinora.address + pagePath(media, "renditions"));
    await page.getByText("0 of 9").waitFor();
    lastWatchedAt = new Date().toISOString();
    await page.clock.fastForward(30_000);
    await page.getByText("3 of 9").waitFor();
  });
});

test("private media with rules on domains plays by a pass", async () => {
  const media = await upload("Private", "private");
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
    await page.locator(".head .tag").getByText("Fetching", { exact: true }).waitFor();
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
    const best = page.locator(".head").getByRole("link", { name: "Download" });
    await page.getByRole("region", { name: "Details" }).getByText("MP4, upload", { exact: true }).waitFor();
    assert.equal(await best.count(), 0, "no file yet");
    await card.getByRole("radio", { name: "On" }).click();
    const link = card.getByRole("link", { name: "Source" });
    await link.waitFor();
    assert.equal((await kinora.media(media.id)).sourceAccess, true);
    assert.equal(await best.getAttribute("href"), await link.getAttribute("href"));
    const { status } = await fetch(await link.getAttribute("href"), { method: "HEAD" });
    assert.equal(status, 200);
    await card.getByLabel("MP4 and audio files").selectOption("Video (MP4)");
    await card.getByRole("link", { name: "capped-4k.mp4" }).waitFor();
    assert.equal((await kinora.media(media.id)).mp4Support, "capped_4k");
    // A browser asks for the file without a referrer.
    await change(kinora, media, { defaultPolicy: "deny", allow: ["shop.example"] }, `/playback-ids/${media.playbackIds[0].id}/domains`);
    await page.reload();
    await card.getByText("Links need a public playback ID without encryption or rules.").waitFor();
    assert.equal(await best.count(), 0, "no file that the server rejects");
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
