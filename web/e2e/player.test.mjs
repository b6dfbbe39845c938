// The player page without a server: a stand-in serves it. Needs `make web`, ffmpeg and Chromium.

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { observe, playUntil, readState } from "./support/observe.mjs";
import { ffmpeg, startSite } from "./support/site.mjs";
import { IS_TIMED } from "./support/verdict.mjs";

const CLIP_S = 4;

let site;
let browser;

before(async () => {
  site = await startSite();
  browser = await startBrowser();
  const picture = `-f lavfi -i testsrc2=s=320x180:r=24:d=${CLIP_S} -c:v libx264 -preset ultrafast -g 48 -pix_fmt yuv420p`;
  const sound = `-f lavfi -i sine=f=440:r=48000:d=${CLIP_S} -c:a aac`;
  await packageClip("clip", picture);
  await packageClip("sound", sound);
  await addSubtitles("clip");
  site.values.set("clip", { title: `A clip </script> & "quotes"` });
  site.values.set("sound", { title: "A tone" });
});

after(async () => {
  await browser?.close();
  await site?.stop();
});

test("clip plays every frame without third-party requests", async () => {
  await open("clip", async (page, seen) => {
    await playUntil(page, { timeout_ms: HANG_MS });
    const { firstFrameMs, stalls, videoFrames, currentTime, duration, buffered, ...state } = await readState(page);
    const times = [currentTime, duration, ...buffered.flat()].map((time) => Number(time.toFixed(3)));
    assert.deepEqual(times, [CLIP_S, CLIP_S, 0, CLIP_S]);
    assert.deepEqual(state, {
      ended: true,
      width: 320,
      height: 180,
      audioTracks: [],
      errors: [],
      notice: null,
    });
    // At a stall, hls.js seeks a little, and frames are decoded twice.
    assert.ok(videoFrames.total >= CLIP_S * 24, `${videoFrames.total} frames`);
    if (IS_TIMED) {
      assert.ok(firstFrameMs < 5_000, `first frame after ${firstFrameMs} ms`);
      assert.equal(stalls, 0);
      assert.equal(videoFrames.total, CLIP_S * 24);
    }
    assert.deepEqual(seen.console, [], "an error on the console, or a breach of the policy");
    assert.deepEqual(seen.requests.filter((address) => !address.startsWith(site.address)), []);
  });
});

test("whole clip is not loaded before play is pressed", async () => {
  await packageClip("long", "-f lavfi -i sine=f=220:r=48000:d=120 -c:a aac");
  await open("long", async (page) => {
    await page.waitForFunction(() => document.querySelector("video").buffered.length > 0);
    await page.waitForLoadState("networkidle");
    const { buffered } = await readState(page);
    assert.ok(buffered[0][1] < 20, `${buffered[0][1]} s of 120 s were loaded`);
  });
});

test("audio-only media plays with permanent controls", async () => {
  await open("sound", async (page, seen) => {
    await playUntil(page, { timeout_ms: HANG_MS });
    const { ended, width, errors } = await readState(page);
    assert.deepEqual({ ended, width, errors }, { ended: true, width: 0, errors: [] });
    assert.equal(await page.locator("#player").getAttribute("class"), "audio");
    assert.deepEqual(seen.console, []);
  });
});

test("title is never parsed as HTML", async () => {
  await open("clip", async (page) => {
    assert.equal(await page.title(), `A clip </script> & "quotes"`);
    assert.equal(await page.locator("h1").textContent(), `A clip </script> & "quotes"`);
  });
});

test("poster is shown, and the BlurHash until the first frame", async () => {
  const path = await folder("posted");
  await copyClip("posted");
  await ffmpeg(path, "-f lavfi -i color=c=red:s=320x180 -frames:v 1 poster.jpg");
  const poster = `${site.address}/media/posted/poster.jpg`;
  site.values.set("posted", { poster, blurHash: "L$HoL82owuX4qQWCjraegHfifRfk" });
  // Delayed, so that there is no frame yet.
  const held = "/media/posted/master.m3u8";
  site.answers.set(held, refusal(400, "media is not ready"));
  await open("posted", async (page, seen) => {
    const video = page.locator("video");
    assert.equal(await video.evaluate((element) => element.poster), poster);
    const background = () => video.evaluate((element) => element.style.background);
    assert.match(await background(), /data:image\/png/);
    const drawn = await video.evaluate(async (element) => {
      const image = new Image();
      image.src = /url\("(.*?)"\)/.exec(element.style.background)[1];
      await image.decode();
      return [image.naturalWidth, image.naturalHeight];
    });
    assert.deepEqual(drawn, [32, 32]);
    await page.waitForLoadState("load");
    assert.ok(seen.requests.includes(poster), "the browser fetches it");
    site.answers.delete(held);
    await page.waitForFunction(() => document.querySelector("video").readyState >= 2);
    await page.waitForFunction(() => document.querySelector("video").style.background === "");
  });
});

test("pointing at the timeline shows its thumbnail", async () => {
  const path = await folder("pointed");
  await packageClip("pointed", `-f lavfi -i testsrc2=s=320x180:r=24:d=${CLIP_S} -c:v libx264 -preset ultrafast -g 48 -pix_fmt yuv420p`);
  await ffmpeg(path, "-f lavfi -i color=c=red:s=160x90,pad=320:90:0:0:blue -frames:v 1 sheet.jpg");
  const cue = (from, to, x) => `\n00:00:0${from}.000 --> 00:00:0${to}.000\nsheet.jpg#xywh=${x},0,160,90\n`;
  await writeFile(`${path}/storyboard.vtt`, `WEBVTT\n${cue(0, 2, 0)}${cue(2, 4, 160)}`);
  site.values.set("pointed", { storyboard: `${site.address}/media/pointed/storyboard.vtt` });
  await open("pointed", async (page, seen) => {
    await page.waitForFunction(() => document.querySelector('track[label="thumbnails"]')?.track.cues?.length === 2);
    assert.ok(!seen.requests.some((address) => address.endsWith("sheet.jpg")), "nobody has pointed yet");
    const bar = await page.locator("media-time-range").boundingBox();
    const preview = page.locator("media-time-range media-preview-thumbnail, media-preview-thumbnail").first();
    const coordinates = () => preview.getAttribute("mediapreviewcoords");
    for (const [part, expected] of [[0.25, "0 0 160 90"], [0.75, "160 0 160 90"]]) {
      await page.mouse.move(bar.x + bar.width * part, bar.y + bar.height / 2);
      await page.waitForFunction(
        ([element, wanted]) => element.getAttribute("mediapreviewcoords") === wanted,
        [await preview.elementHandle(), expected],
      );
      assert.equal(await coordinates(), expected);
    }
    await page.waitForFunction((element) => element.shadowRoot.querySelector("img").naturalWidth === 320, await preview.elementHandle());
    assert.deepEqual(seen.console, []);
  });
});

test("accessibility tree matches the golden file", async () => {
  await open("clip", async (page) => {
    await page.getByRole("button", { name: "closed captions" }).waitFor();
    await page.getByRole("button", { name: "playback time" }).filter({ hasText: /0:0[34]/ }).waitFor();
    const found = await page.locator("body").ariaSnapshot();
    // Audio and video end some ms apart, and the displayed time is rounded down. It may be 3.9 s while the
    // last segment loads.
    await compare("player.aria.yml", found.replace("/ 0:03", "/ 0:04"));
  });
});

test("keyboard starts, mutes and seeks", async () => {
  await open("clip", async (page) => {
    const video = page.locator("video");
    await page.waitForFunction(() => document.querySelector("video").readyState >= 3);
    await page.keyboard.press("m");
    await page.waitForFunction(() => document.querySelector("video").muted);
    await page.keyboard.press("k");
    await page.waitForFunction(() => !document.querySelector("video").paused);
    await page.keyboard.press("k");
    await page.waitForFunction(() => document.querySelector("video").paused);
    await page.keyboard.press("l");
    await page.waitForFunction((end) => document.querySelector("video").currentTime > end - 0.01, CLIP_S);
    assert.equal(await video.evaluate((element) => element.muted), true);
  });
});

test("subtitles of the manifest can be switched on", async () => {
  await open("clip", async (page) => {
    await page.getByRole("button", { name: "closed captions" }).waitFor();
    await page.keyboard.press("c");
    await page.waitForFunction(() => {
      const [track] = document.querySelector("video").textTracks;
      return track?.mode === "showing" && track.cues?.length === 1;
    });
    const text = await page.locator("video").evaluate((video) => video.textTracks[0].cues[0].text);
    assert.equal(text, "Hello from the side");
  });
});

test("selecting another audio language continues playback", async () => {
  await packageTongues("tongues");
  await open("tongues", async (page, seen) => {
    const button = page.getByRole("button", { name: "Audio" });
    await button.click();
    const items = page.locator("media-audio-track-menu").getByRole("menuitemradio");
    await items.first().waitFor();
    assert.deepEqual(await items.allInnerTexts(), ["English", "German"]);
    assert.deepEqual(await languages(page), { en: true, de: false });
    await page.getByRole("menuitemradio", { name: "German" }).click();
    await playUntil(page, { timeout_ms: HANG_MS });
    assert.deepEqual(await languages(page), { en: false, de: true });
    const { ended, errors, stalls, buffered } = await readState(page);
    // On a slow machine a segment of the first language is still loading; hls.js aborts it once per switch.
    const [first, ...others] = errors;
    if (first !== undefined) assert.deepEqual(first, { fatal: false, name: "aborted", status: null });
    assert.deepEqual({ ended, others }, { ended: true, others: [] });
    if (IS_TIMED) assert.equal(stalls, 0);
    assert.equal(buffered.length, 1, "no hole where the language changed");
    assert.ok(seen.requests.some((address) => address.endsWith("/de1.m4s")));
    assert.deepEqual(seen.console, []);
  });
});

test("single audio track has no menu", async () => {
  await open("clip", async (page) => {
    await page.getByRole("button", { name: "closed captions" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Audio" }).count(), 0);
  });
});

test("page waits until the media is ready, then plays", async () => {
  site.answers.set("/media/later/master.m3u8", refusal(400, "media is not ready"));
  await open("later", async (page) => {
    await page.getByRole("heading", { name: "Still being prepared" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);

    await copyClip("later");
    site.answers.delete("/media/later/master.m3u8");
    await page.getByRole("heading", { name: "Still being prepared" }).waitFor({ state: "hidden" });
    await playUntil(page, { timeout_ms: HANG_MS });
    const { ended, notice } = await readState(page);
    assert.deepEqual({ ended, notice }, { ended: true, notice: null });
  });
});

const refusals = [
  { status: 401, message: "unauthorized", title: "This is private", button: true },
  { status: 403, message: "forbidden", title: "Not allowed here", button: true },
  { status: 404, message: "Media/PlaybackId not Found", title: "Not found", button: true },
  {
    status: 404,
    message: "Media/PlaybackId not Found",
    description: "this media failed and cannot be played",
    title: "This cannot be played",
    button: false,
  },
  { status: 400, message: "Bad Request", title: "This cannot be played", button: true },
  { status: 422, message: "payload validation failed", title: "This cannot be played", button: true },
  { status: 429, message: "too many requests", title: "The server is busy", button: false },
  { status: 503, message: "unavailable", title: "The server is busy", button: false },
];
for (const { status, message, description, title, button } of refusals) {
  test(`a manifest that answers ${status} (${description ?? message}) ends in “${title}”`, async () => {
    const name = `refused-${status}-${(description ?? message).length}`;
    site.answers.set(`/media/${name}/master.m3u8`, refusal(status, message, description));
    await open(name, async (page) => {
      await page.getByRole("heading", { name: title }).waitFor();
      assert.equal(await page.getByRole("button", { name: "Try again" }).count(), button ? 1 : 0);
      assert.equal(await page.getByRole("button", { name: "play" }).count(), 0, "the player is out of reach");
    });
  });
}

test("“Try again” plays once access is allowed again", async () => {
  const path = "/media/clip/master.m3u8";
  site.answers.set(path, refusal(403, "forbidden"));
  await open("clip", async (page) => {
    const again = page.getByRole("button", { name: "Try again" });
    await again.waitFor();
    site.answers.delete(path);
    await again.click();
    await page.getByRole("heading", { name: "Not allowed here" }).waitFor({ state: "hidden" });
    await playUntil(page, { timeout_ms: HANG_MS });
    assert.equal((await readState(page)).ended, true);
  });
});

test("invalid media bytes end with a message, not an endless spinner", async () => {
  const name = "garbage";
  await copyClip(name);
  await writeFile(`${site.folder}/${name}/init.mp4`, Buffer.alloc(2_000, 7));
  await open(name, async (page) => {
    await page.getByRole("heading", { name: "This cannot be played here" }).waitFor();
    const { errors } = await readState(page);
    assert.deepEqual(errors[0], { fatal: false, name: "fragParsingError", status: null });
  });
});

test("page without values shows a message", async () => {
  site.values.set("unfilled", { manifest: "" });
  await open("unfilled", async (page) => {
    await page.getByRole("heading", { name: "Nothing to play" }).waitFor();
  });
});

/** Opens the page of a clip, passes it to `body`, and closes it. */
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

/** Packages the ffmpeg output for `input`: segments of 2 s, and a manifest with one variant. */
async function packageClip(name, input) {
  const path = await folder(name);
  await ffmpeg(path, `${input} -f hls -hls_time 2 -hls_playlist_type vod -hls_segment_type fmp4 media.m3u8`);
  await writeFile(`${path}/master.m3u8`, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=500000\nmedia.m3u8\n");
}

/** Packages video with two separate audio tracks. */
async function packageTongues(name) {
  const path = await folder(name);
  const hls = (part) =>
    `-f hls -hls_time 2 -hls_playlist_type vod -hls_segment_type fmp4 -hls_fmp4_init_filename ${part}-init.mp4 ` +
    `-hls_segment_filename ${part}%d.m4s ${part}.m3u8`;
  const picture = `-f lavfi -i testsrc2=s=320x180:r=24:d=${CLIP_S} -c:v libx264 -preset ultrafast -g 48 -pix_fmt yuv420p`;
  await ffmpeg(path, `${picture} ${hls("video")}`);
  await ffmpeg(path, `-f lavfi -i sine=f=440:r=48000:d=${CLIP_S} -c:a aac ${hls("en")}`);
  await ffmpeg(path, `-f lavfi -i sine=f=330:r=44100:d=${CLIP_S} -c:a aac ${hls("de")}`);
  const audio = (language, label, rest) =>
    `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",LANGUAGE="${language}",NAME="${label}",${rest},URI="${language}.m3u8"`;
  const lines = [
    "#EXTM3U",
    audio("en", "English", "DEFAULT=YES,AUTOSELECT=YES"),
    audio("de", "German", "DEFAULT=NO,AUTOSELECT=YES"),
    `#EXT-X-STREAM-INF:BANDWIDTH=500000,CODECS="avc1.42c00d,mp4a.40.2",AUDIO="audio"`,
    "video.m3u8",
  ];
  await writeFile(`${path}/master.m3u8`, `${lines.join("\n")}\n`);
}

/** The language of the enabled audio track. */
async function languages(page) {
  const { audioTracks } = await readState(page);
  return Object.fromEntries(audioTracks.map(({ language, enabled }) => [language, enabled]));
}

/** The folder that the site serves below `/media/{name}/`. */
async function folder(name) {
  const path = `${site.folder}/${name}`;
  await mkdir(path, { recursive: true });
  return path;
}

async function copyClip(name) {
  const to = await folder(name);
  const files = ["master.m3u8", "media.m3u8", "init.mp4", "media0.m4s", "media1.m4s", "subtitles.m3u8", "en.vtt"];
  for (const file of files) await writeFile(`${to}/${file}`, await readFile(`${site.folder}/clip/${file}`));
}

/** Adds one English subtitle track with one cue to a manifest. */
async function addSubtitles(name) {
  const path = await folder(name);
  await writeFile(`${path}/en.vtt`, "WEBVTT\n\n00:00:00.000 --> 00:00:04.000\nHello from the side\n");
  const lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:4", "#EXT-X-PLAYLIST-TYPE:VOD", "#EXTINF:4,", "en.vtt", "#EXT-X-ENDLIST"];
  await writeFile(`${path}/subtitles.m3u8`, `${lines.join("\n")}\n`);
  const media = `#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",URI="subtitles.m3u8"`;
  const master = await readFile(`${path}/master.m3u8`, "utf8");
  await writeFile(
    `${path}/master.m3u8`,
    master.replace("#EXT-X-STREAM-INF:", `${media}\n#EXT-X-STREAM-INF:SUBTITLES="s",`),
  );
}

function refusal(status, message, description = "why, in a sentence") {
  return { status, body: { success: false, error: { code: status, message, description } } };
}

/** Compares with `golden/{name}`; `UPDATE_GOLDEN=1` overwrites the golden file. */
async function compare(name, found) {
  const path = new URL(`golden/${name}`, import.meta.url);
  if (process.env.UPDATE_GOLDEN) await writeFile(path, `${found}\n`);
  assert.equal(`${found}\n`, await readFile(path, "utf8"));
}
