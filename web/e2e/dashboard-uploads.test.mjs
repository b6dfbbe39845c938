// Uploads of the dashboard on a real server: from a setup link to a page that plays, settings, order,
// problems. Needs `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.
//
// `KINORA_SHOTS=FOLDER` writes the images of docs/dashboard.md.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { createPerson, PASSWORD, setUp, withPage } from "./support/dashboard.mjs";
import {
  chooseFiles, confirmSheet, dropFiles, hostIsThere, limitRate, openUploads, rowOf, sheet, tray, uploadFiles, waitForPercent, withoutHandles,
} from "./support/dashboard-uploads.mjs";
import { makeFiles } from "./support/files.mjs";
import { fits, tabTo } from "./support/fit.mjs";
import { startPlainKinora } from "./support/kinora.mjs";
import { start } from "./support/start.mjs";

const MB = 1_000_000;

const { kinora, browser, files } = await start({ files: makeFiles });

/** Opens a page of its own, with the picker that a test can operate. */
const open = (use, options) =>
  withPage(browser, kinora.address, async (page, context) => {
    await withoutHandles(context);
    page.on("dialog", (dialog) => dialog.accept()); // leaving asks while bytes are sent
    await use(page, context);
  }, options);

async function shoot(page, name) {
  const folder = process.env.KINORA_SHOTS;
  if (folder) await page.screenshot({ path: join(folder, `dashboard-${name}.png`) });
}

/** Waits until the video of a frame or page shows frames and its time advances. */
async function plays(place) {
  const video = place.locator("video");
  await video.waitFor({ state: "attached" });
  await video.evaluate(async (element) => {
    element.muted = true;
    await element.play();
    await new Promise((passed) => element.addEventListener("timeupdate", () => element.currentTime > 0.5 && passed()));
  });
  assert.ok((await video.evaluate((element) => element.getVideoPlaybackQuality().totalVideoFrames)) > 5, "frames advance");
}

test("the main way: setup link, password, drop a file, ready, play, copy embed, that page plays", async () => {
  const clip = await files.clip("A first talk.mp4", 3 * MB);
  await open(
    async (page) => {
      const { link } = await createPerson(kinora);
      await page.goto(link);
      await page.getByLabel("Name").fill("Mara Lindqvist");
      await page.getByLabel("New password", { exact: true }).fill(PASSWORD);
      await shoot(page, "setup");
      await page.getByRole("button", { name: "Create the account" }).click();
      await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
      await page.getByRole("button", { name: "Choose files" }).waitFor();
      await hostIsThere(page);
      await shoot(page, "library-empty");

      await dropFiles(page, [clip]);
      await sheet(page).waitFor();
      await shoot(page, "upload");
      await confirmSheet(page);
      const done = tray(page).getByRole("link", { name: "A first talk" });
      await done.waitFor(); // ready, without a reload
      await tray(page).getByText("1 file uploaded").waitFor();
      await page.locator("main .state").getByText("Ready").first().waitFor();
      await shoot(page, "library");
      assert.ok((await kinora.sources()).includes(clip.digest), "the file is stored as it was sent");

      await done.click();
      await page.getByRole("heading", { level: 1, name: "A first talk" }).waitFor();
      await plays(page.frameLocator("iframe.player"));
      await shoot(page, "media");

      await page.getByRole("link", { name: "Code", exact: true }).first().click();
      const code = page.getByRole("group", { name: "Embed with an iframe" });
      await code.getByRole("button").click();
      await page.getByRole("status").filter({ hasText: "Copied" }).waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(copied, /^<iframe /);
      await shoot(page, "code");
      await pastesAndPlays(copied);
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  );
});

/** Serves a page of another site with this HTML, and plays it. */
async function pastesAndPlays(html) {
  const site = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html><title>A site</title>${html}`));
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${site.address().port}`);
    await plays(page.frameLocator("iframe"));
  } finally {
    await context.close();
    site.closeAllConnections();
    site.close();
  }
}

test("one sheet for all: titles, policy, resolution, metadata; empty files are not sent", async () => {
  const emoji = "\u{1F3AC}".repeat(255);
  const clip = await files.clip("a.b <i>&\u202E\u05D0.mp4", MB);
  const other = await files.clip("other.mp4", MB);
  const empty = await files.of("empty.mp4", Buffer.alloc(0));
  await open(async (page) => {
    await setUp(kinora, page);
    await hostIsThere(page);
    await chooseFiles(page, () => page.getByRole("button", { name: "Upload", exact: true }).click(), [clip.path, other.path, empty]);
    const dialog = sheet(page);
    assert.equal(await dialog.getByLabel(`Title of ${clip.name}`).inputValue(), "a.b <i>&\u202E\u05D0", "the name without its ending");
    await dialog.getByText("Empty: it has no bytes to send.").waitFor();
    await dialog.getByLabel("Title of other.mp4").fill(`${emoji}\u{1F3AC}/`);
    await dialog.getByRole("radio", { name: "Only with a token" }).click();
    await dialog.getByLabel("Max. resolution").selectOption("720p");
    await dialog.getByRole("button", { name: "Add metadata" }).click();
    await dialog.getByLabel("Key 1").fill("season");
    await dialog.getByLabel("Value 1").fill("2/3");
    await fits(page, "sheet");
    await dialog.getByRole("button", { name: "Upload 2 files" }).click();
    await tray(page).getByText("2 files uploaded").waitFor();
    const media = await kinora.ask("/v1/on-demand?limit=2");
    assert.deepEqual(media.map(({ title }) => title).sort(), ["a.b <i>&\u202E\u05D0", emoji].sort());
    for (const { maxResolution, metadata, playbackIds } of media) {
      assert.deepEqual([maxResolution, metadata, playbackIds[0].accessPolicy], ["720p", { season: "2/3" }, "private"]);
    }
    await fits(page, "tray with finished uploads");
    await openUploads(page);
    await page.getByRole("heading", { level: 2, name: "Finished", exact: true }).waitFor();
    await fits(page, "page with finished uploads");
    await page.getByRole("button", { name: "Clear finished" }).click();
    await page.getByRole("heading", { name: "Drop video or audio files here" }).waitFor();
    await page.getByText("kinora upload talk.mp4 --workspace Development --wait").waitFor();
    await fits(page, "page without uploads");
  });
});

test("drops on dialogs open no file; the sheet takes more, asks at Escape, and survives a full disk", async () => {
  const [one, two] = await Promise.all(["one.mp4", "two.mp4"].map((name) => files.clip(name, MB)));
  await open(async (page) => {
    await setUp(kinora, page);
    await hostIsThere(page);
    await page.evaluate(() => addEventListener("drop", (event) => (window.isPrevented = event.defaultPrevented)));
    await dropFiles(page, [one]);
    await dropFiles(page, [two]);
    const dialog = page.getByRole("dialog", { name: "Upload 2 files" });
    await dialog.getByLabel("Title of two.mp4").fill("Another title");
    await page.keyboard.press("Escape");
    const ask = page.getByRole("dialog", { name: "Discard your changes?" });
    await ask.waitFor();
    await fits(page, "question before changes are discarded");
    await page.evaluate(() => (window.isPrevented = false));
    await dropFiles(page, [one]);
    assert.equal(await page.evaluate(() => window.isPrevented), true, "the browser does not open it");
    await ask.getByRole("button", { name: "Keep editing" }).click();
    assert.equal(await dialog.getByLabel("Title of two.mp4").inputValue(), "Another title");
    await page.evaluate(() => {
      const { put } = IDBObjectStore.prototype;
      IDBObjectStore.prototype.put = function (...values) {
        IDBObjectStore.prototype.put = put;
        this.transaction.abort();
        return put.apply(this, values);
      };
    });
    await dialog.getByRole("button", { name: "Upload 2 files" }).click();
    await dialog.getByText("The browser could not store the queue").waitFor();
    await dialog.getByRole("button", { name: "Upload 2 files" }).click();
    await tray(page).getByText("2 files uploaded").waitFor();
  });
});

test("an unreadable entry of a folder is named, and the rest is kept", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await hostIsThere(page);
    await page.evaluate(() => {
      const fileOf = (name) => ({ kind: "file", name, getFile: async () => new File(["x"], name, { type: "video/mp4" }) });
      const broken = { kind: "file", name: "locked.mp4", getFile: () => Promise.reject(new DOMException("", "NotReadableError")) };
      const folder = { kind: "directory", name: "folder", values: async function* () { yield* [fileOf("a.mp4"), broken, fileOf("b.mp4")]; } };
      const item = { kind: "file", getAsFileSystemHandle: async () => folder, getAsFile: () => null };
      const event = new Event("drop", { bubbles: true, cancelable: true });
      Object.assign(event, { dataTransfer: { types: ["Files"], items: [item] } });
      document.body.dispatchEvent(event);
    });
    const dialog = page.getByRole("dialog", { name: "Upload 2 files" });
    await dialog.getByText("Could not be read: locked.mp4.").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });
});

test("pause, order, cancel, and how many run at once, by keyboard alone", async () => {
  const clips = await Promise.all(["first", "second", "third"].map((name) => files.clip(`${name}.mp4`, 4 * MB)));
  await open(async (page) => {
    await setUp(kinora, page);
    await openUploads(page);
    await hostIsThere(page);
    await limitRate(page, MB);
    await chooseFiles(page, () => page.keyboard.press("u"), clips.map(({ path }) => path));
    await page.getByRole("button", { name: "Upload 3 files" }).waitFor();
    await tabTo(page, page.getByRole("button", { name: "Upload 3 files" }));
    await page.keyboard.press("Enter");
    await waitForPercent(page, "first", 1);
    const atOnce = page.getByLabel("Files at once");
    await tabTo(page, page.getByRole("button", { name: "Pause all" }));
    await page.keyboard.press("Enter");
    for (const name of ["first", "second", "third"]) await rowOf(page, name).getByText("Paused").waitFor();
    await fits(page, "paused uploads");
    await tabTo(page, page.getByRole("button", { name: "Earlier: third" }));
    await page.keyboard.press("Alt+ArrowUp");
    const order = () => page.getByRole("list", { name: "Uploads of this browser" }).locator("b").allInnerTexts();
    await page.getByRole("listitem").nth(1).getByText("third", { exact: true }).waitFor();
    assert.deepEqual(await order(), ["first", "third", "second"]);
    await tabTo(page, atOnce);
    await atOnce.selectOption("1");
    await tabTo(page, page.getByRole("button", { name: "Resume all" }));
    await page.keyboard.press("Enter");
    await rowOf(page, "second").getByText("Waiting").waitFor();
    await rowOf(page, "first").getByText("Sending").waitFor();
    assert.equal(await page.getByText("Sending", { exact: true }).count(), 1, "one runs at once");
    await tabTo(page, page.getByRole("button", { name: "Cancel: second" }));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("dialog").getByRole("button", { name: "Cancel the upload" }));
    await page.keyboard.press("Enter");
    await page.getByRole("status").filter({ hasText: "Upload cancelled" }).waitFor();
    await limitRate(page, null);
    for (const name of ["first", "third"]) await rowOf(page, name).getByText("Ready", { exact: true }).waitFor();
    const sources = await kinora.sources();
    assert.deepEqual(clips.map(({ digest }) => sources.includes(digest)), [true, false, true]);
  });
});

test("a file that is no media ends with the server's sentence; a failed one can begin again", async () => {
  const text = await files.of("notes.mp4", Buffer.alloc(MB, "This is no film.\n"));
  const full = await files.clip("full.mp4", MB);
  await open(async (page) => {
    await setUp(kinora, page);
    await uploadFiles(page, [text]);
    await tray(page).getByText("1 upload failed").waitFor();
    await openUploads(page);
    await rowOf(page, "notes").getByRole("alert").getByText(/This file cannot be used\..* Choose a video or audio file\./).waitFor();
    for (const name of ["Start again", "Retry all failed"]) assert.equal(await page.getByRole("button", { name }).count(), 0, "the same bytes fail again");
    assert.match(await page.getByRole("link", { name: "Open the failed media" }).getAttribute("href"), /\/media\/[0-9a-f-]{36}$/);
    await fits(page, "failed upload");
    await page.getByRole("button", { name: "Remove: notes" }).click();
    await rowOf(page, "notes").waitFor({ state: "detached" });

    // A fulfilled route stands in for states of the server that a test cannot make.
    let status = 507;
    await page.route("**/upload/**", (route) => {
      const json = { success: false, error: { code: status, message: "", description: status === 410 ? "this upload URL has expired; create another upload" : "" } };
      const isOfUpload = route.request().method() !== "GET" && status !== 200;
      return isOfUpload ? route.fulfill({ status, json, headers: { "retry-after": "1" } }) : route.continue();
    });
    await uploadFiles(page, [full.path]);
    await rowOf(page, "full").getByText("The server’s disk is full").waitFor();
    await rowOf(page, "full").getByText("Waiting for the server").waitFor();
    status = 410;
    await rowOf(page, "full").getByRole("alert").getByText(/This upload URL has expired; create another upload\. Press “Start again”/).waitFor();
    status = 200;
    await page.getByRole("button", { name: "Retry all failed" }).click();
    await rowOf(page, "full").getByText("Ready", { exact: true }).waitFor();
    assert.ok((await kinora.sources()).includes(full.digest));
  }, { mayLoseConnections: true });
});

test("a viewer sees unfinished uploads, and no way to upload", async () => {
  await kinora.createUpload({ pushMediaSettings: { title: "From a program", creatorId: "camera-7" } });
  await open(async (page) => {
    await setUp(kinora, page, { role: "viewer" });
    await openUploads(page);
    await rowOf(page, "From a program").getByText("creator camera-7").waitFor();
    assert.equal(await page.getByRole("main").getByRole("button").count(), 0);
    assert.equal(await page.locator("[data-uploads]").count(), 0, "drops are not taken");
    await fits(page, "uploads of a viewer");
  });
});

test("plain HTTP on a network address: files upload, and a reload asks for them again", async () => {
  const clip = await files.clip("plain.mp4", 4 * MB);
  const plain = await startPlainKinora();
  try {
    await withPage(browser, plain.publicUrl, async (page) => {
      page.on("dialog", (dialog) => dialog.accept());
      await setUp(plain, page);
      assert.equal(await page.evaluate(() => isSecureContext), false);
      await limitRate(page, MB);
      await uploadFiles(page, [clip.path]);
      await waitForPercent(page, "plain", 20);
      await openUploads(page);
      await page.getByText("Over plain HTTP the browser cannot open files again").waitFor();
      await page.reload();
      const again = page.getByRole("button", { name: "Choose this file again" });
      await again.waitFor();
      await fits(page, "upload that waits for its file");
      await chooseFiles(page, () => again.click(), [clip.path]);
      await rowOf(page, "plain").getByText("Ready", { exact: true }).waitFor();
      assert.ok((await plain.sources()).includes(clip.digest));
    });
  } finally {
    await plain.stop();
  }
});
