// The player page with a stream of several qualities, and with a busy server. Needs `make web`, ffmpeg and
// Chromium.

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { observe, playUntil, readState } from "./support/observe.mjs";
import { ffmpeg, startSite } from "./support/site.mjs";
import { IS_TIMED } from "./support/verdict.mjs";

const CLIP_S = 6;
const LARGE = { size: "480x270", name: "270p" };
const SMALL = { size: "240x100", name: "135p" }; // as wide as 240x135, so it has that name
/** Announced bandwidths: the first one is above the initial estimate of hls.js. */
const BANDWIDTHS = [5_800_000, 400_000];
const MASTER = "/media/several/master.m3u8";

let site;
let browser;

before(async () => {
  site = await startSite();
  browser = await startBrowser();
  await packageRungs("several", [LARGE, SMALL]);
  await packageRungs("one", [LARGE]);
});

after(async () => {
  await browser?.close();
  await site?.stop();
});

test("viewer selects a quality and returns to automatic", async () => {
  await open("several", async (page, seen) => {
    await playUntil(page, { until_s: 0.5, pauses: true, timeout_ms: HANG_MS });
    await choose(page, SMALL.name);
    await page.evaluate(() => void document.querySelector("video").play());
    await page.getByRole("button", { name: `Quality ${SMALL.name}` }).waitFor();
    assert.deepEqual(await offered(page), [LARGE.name, `${SMALL.name} ✓`, `Auto (${SMALL.name})`]);
    await choose(page, `Auto (${SMALL.name})`);
    assert.deepEqual((await offered(page)).map((name) => name.endsWith("✓")), [false, false, true]);
    await playUntil(page, { timeout_ms: HANG_MS });
    const { ended, errors, stalls, buffered } = await readState(page);
    assert.deepEqual({ ended, errors, pieces: buffered.length }, { ended: true, errors: [], pieces: 1 });
    if (IS_TIMED) assert.equal(stalls, 0);
    assert.deepEqual(seen.console, []);
  });
});

test("playback starts with the first listed quality and requests no other", async () => {
  site.asked.length = 0;
  await open("several", async (page) => {
    await playUntil(page, { timeout_ms: HANG_MS });
    const asked = site.asked.map(({ path }) => path.split("/").at(-1)).filter((file) => file.endsWith(".m4s"));
    assert.deepEqual(asked, [0, 1, 2].map((n) => `${LARGE.name}-${n}.m4s`));
  });
});

test("keyboard selects a quality", async () => {
  await open("several", async (page) => {
    await page.getByRole("button", { name: /^Quality/ }).focus();
    await page.keyboard.press("Enter");
    // The menu receives the focus after it opens.
    await page.waitForFunction(() => document.activeElement?.id === "qualities");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await playUntil(page, { timeout_ms: HANG_MS });
    assert.equal((await readState(page)).height, 100);
  });
});

test("selected quality survives a player restart", async () => {
  await open("several", async (page) => {
    await playUntil(page, { until_s: 0.5, pauses: true, timeout_ms: HANG_MS });
    const lost = [LARGE, SMALL].flatMap(({ name }) => [1, 2].map((n) => `/media/several/${name}-${n}.m4s`));
    for (const path of lost) site.answers.set(path, { status: 404, body: {} });
    await choose(page, SMALL.name); // the buffer is loaded again, which now fails
    await page.evaluate(() => void document.querySelector("video").play());
    const again = page.getByRole("button", { name: "Try again" });
    await again.waitFor();
    for (const path of lost) site.answers.delete(path);
    await again.click();
    await playUntil(page, { timeout_ms: HANG_MS });
    assert.deepEqual(await offered(page), [LARGE.name, `${SMALL.name} ✓`, `Auto (${SMALL.name})`]);
    assert.equal((await readState(page)).height, 100);
  });
});

test("single quality has no menu", async () => {
  await open("one", async (page) => {
    await playUntil(page, { until_s: 0.5, timeout_ms: HANG_MS });
    assert.equal(await page.getByRole("button", { name: /^Quality/ }).count(), 0);
  });
});

test("page retries a busy server after its Retry-After", async () => {
  site.answers.set(MASTER, busy(3));
  site.asked.length = 0;
  await open("several", async (page) => {
    await page.getByRole("heading", { name: "The server is busy" }).waitFor();
    const times = () => site.asked.filter(({ path }) => path === MASTER).map(({ at_ms }) => at_ms);
    const before = times().length;
    while (times().length === before) await page.waitForRequest((request) => request.url().endsWith(MASTER));
    const waited_ms = times()[before] - times()[before - 1];
    // Without Retry-After it would retry after 1 s.
    assert.ok(waited_ms > 2_900, `asked again after ${waited_ms} ms`);
    if (IS_TIMED) assert.ok(waited_ms < 4_500, `asked again after ${waited_ms} ms`);
    site.answers.delete(MASTER);
    await page.getByRole("heading", { name: "The server is busy" }).waitFor({ state: "hidden" });
    await playUntil(page, { timeout_ms: HANG_MS });
    assert.equal((await readState(page)).ended, true);
  });
});

test("segment with 503 shows a busy server, not a broken stream", async () => {
  const part = "/media/one/270p.m3u8";
  site.answers.set(part, busy(1));
  await open("one", async (page) => {
    await page.getByRole("heading", { name: "The server is busy" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
    site.answers.delete(part);
    await page.getByRole("heading", { name: "The server is busy" }).waitFor({ state: "hidden" });
    await playUntil(page, { timeout_ms: HANG_MS });
    assert.equal((await readState(page)).ended, true);
  });
});

/** Opens the page of a stream, passes it to `body`, and closes it. */
async function open(name, body) {
  const context = await browser.newContext({ viewport: { width: 960, height: 540 } });
  try {
    const page = await context.newPage();
    const seen = await observe(page);
    await page.goto(`${site.address}/embed/${name}`);
    await body(page, seen);
  } finally {
    await context.close();
  }
}

/** Chooses from the menu as a viewer does. */
async function choose(page, name) {
  await page.mouse.move(100, 100); // shows the controls
  await page.getByRole("button", { name: /^Quality/ }).click();
  await page.getByRole("menuitemradio", { name, exact: true }).click();
}

/** The entries of the menu in order; the selected one has a tick. */
async function offered(page) {
  const items = page.locator("quality-menu").getByRole("menuitemradio", { includeHidden: true });
  return items.evaluateAll((all) => all.map((item) => item.textContent.trim() + (item.ariaChecked === "true" ? " ✓" : "")));
}

function busy(seconds) {
  const body = { success: false, error: { code: 503, message: "service unavailable", description: "" } };
  return { status: 503, body, headers: { "retry-after": String(seconds) } };
}

/** Packages rungs of one clip, in segments of 2 s. */
async function packageRungs(name, rungs) {
  const path = `${site.folder}/${name}`;
  await mkdir(path);
  const variants = [];
  for (const [n, { size, name: rung }] of rungs.entries()) {
    const hls =
      `-f hls -hls_time 2 -hls_playlist_type vod -hls_segment_type fmp4 -hls_fmp4_init_filename ${rung}.mp4 ` +
      `-hls_segment_filename ${rung}-%d.m4s ${rung}.m3u8`;
    const picture = `-f lavfi -i testsrc2=s=${size}:r=24:d=${CLIP_S} -c:v libx264 -preset ultrafast -g 48 -pix_fmt yuv420p`;
    await ffmpeg(path, `${picture} ${hls}`);
    variants.push(`#EXT-X-STREAM-INF:BANDWIDTH=${BANDWIDTHS[n]},RESOLUTION=${size}\n${rung}.m3u8\n`);
  }
  await writeFile(`${path}/master.m3u8`, `#EXTM3U\n#EXT-X-INDEPENDENT-SEGMENTS\n${variants.join("")}`);
}
