// The dashboard by keyboard alone: from a setup link to a media with its playback IDs, tracks and clips.
// Needs `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { HANG_MS } from "./support/browser.mjs";
import { createPerson, PASSWORD, toast } from "./support/dashboard.mjs";
import { fits, hasFocus, tabTo } from "./support/fit.mjs";
import { entryOf } from "./support/library.mjs";
import { makeFiles, openMedia, uploadFile } from "./support/media.mjs";
import { startSite } from "./support/site.mjs";
import { start } from "./support/start.mjs";

const { kinora, files, site, open } = await start({ files: makeFiles, site: startSite });
await copyFile(files.file("tone.m4a"), join(site.folder, "tone.m4a"));
await writeFile(join(site.folder, "en.vtt"), "WEBVTT\n\n00:00.000 --> 00:02.000\nHello\n");

/** Reaches an element by Tab and presses a key on it. */
async function press(page, locator, key = "Enter") {
  await tabTo(page, locator);
  await page.keyboard.press(key);
}

/** Reaches a field by Tab and types into it, in the place of what it has. */
async function typeInto(page, locator, text) {
  await press(page, locator, "Control+A");
  await page.keyboard.type(text);
}

test("keyboard alone: setup link, account, media from a URL, its page", async () => {
  await uploadFile(kinora, files.file("tone.m4a"), "First");
  await open(async (page) => {
    const { link } = await createPerson(kinora);
    await page.goto(link);
    await page.getByLabel("Name").waitFor();
    await typeInto(page, page.getByLabel("Name"), "Mara Lindqvist");
    await typeInto(page, page.getByLabel("New password", { exact: true }), PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    await entryOf(page, "First").waitFor();

    await press(page, page.getByRole("button", { name: "From a URL" }));
    const panel = page.getByRole("region", { name: "Add media from a URL" });
    await panel.waitFor();
    assert.ok(await hasFocus(panel.getByLabel("URL")), "the focus is on the first field");
    await page.keyboard.type(`${site.address}/media/tone.m4a`);
    await typeInto(page, panel.getByLabel("Title"), "By keyboard");
    await page.keyboard.press("Enter");
    await entryOf(page, "By keyboard").getByText("Ready").waitFor({ timeout: HANG_MS });
    await press(page, entryOf(page, "By keyboard").getByRole("link"));
    const heading = page.getByRole("heading", { level: 1, name: "By keyboard" });
    await heading.waitFor();
    assert.ok(await hasFocus(heading), "the focus is on the heading");
    await press(page, page.getByRole("navigation", { name: "This media" }).getByRole("link", { name: /^Playback/ }));
    await page.getByRole("button", { name: "Create playback ID" }).waitFor();
  });
});

test("keyboard alone: a playback ID is created and deleted", async () => {
  const media = await uploadFile(kinora, files.file("tone.m4a"), "Playback IDs");
  await open(async (page) => {
    await openMedia(page, kinora, media, { tab: "playback" });
    await press(page, page.getByRole("button", { name: "Create playback ID" }));
    const panel = page.getByRole("region", { name: "Create playback ID" });
    await panel.waitFor();
    await tabTo(page, panel.getByRole("radio", { name: "Public" }));
    await page.keyboard.press("ArrowRight");
    assert.ok(await panel.getByRole("radio", { name: "Private" }).isChecked());
    await press(page, panel.getByRole("button", { name: "Create playback ID" }));
    await toast(page, "Playback ID created");
    const { id } = (await kinora.media(media.id)).playbackIds.find(({ accessPolicy }) => accessPolicy === "private");
    await press(page, page.getByRole("button", { name: `Delete the playback ID ${id.slice(0, 8)}` }));
    const dialog = page.getByRole("dialog", { name: "Delete this playback ID?" });
    await dialog.waitFor();
    assert.ok(await hasFocus(dialog.getByRole("button", { name: "Cancel" })), "the dangerous button is not the default");
    await press(page, dialog.getByRole("button", { name: "Delete playback ID" }));
    await toast(page, "Playback ID deleted");
    assert.equal((await kinora.media(media.id)).playbackIds.length, 1);
  });
});

test("keyboard alone: subtitles are added, renamed and deleted", async () => {
  const media = await uploadFile(kinora, files.file("clip.mp4"), "Tracks");
  await open(async (page) => {
    await openMedia(page, kinora, media, { tab: "tracks" });
    await press(page, page.getByRole("button", { name: "Add a track" }));
    const panel = page.getByRole("region", { name: "Add a track" });
    await typeInto(page, panel.getByLabel("URL of the file"), `${site.address}/media/en.vtt`);
    await typeInto(page, panel.getByLabel("Language code"), "en");
    await typeInto(page, panel.getByLabel("Name", { exact: true }), "English");
    await page.keyboard.press("Enter");
    await toast(page, "Track added");
    const row = page.getByRole("row").filter({ hasText: "English" });
    await row.getByText("Available").waitFor({ timeout: HANG_MS });

    await press(page, row.getByRole("button", { name: "Change English" }));
    await page.getByLabel("URL of another file").waitFor();
    await fits(page, "form of a track that is changed");
    await typeInto(page, page.getByLabel("Name", { exact: true }), "English, checked");
    await page.keyboard.press("Enter");
    await toast(page, "Track changed");

    await press(page, page.getByRole("button", { name: "Delete English, checked" }));
    const dialog = page.getByRole("dialog", { name: "Delete “English, checked”?" });
    await dialog.waitFor();
    await fits(page, "deletion of a track");
    await press(page, dialog.getByRole("button", { name: "Delete track" }));
    await toast(page, "Track deleted");
    await page.getByText("English, checked").waitFor({ state: "detached" });
  });
});

test("keyboard alone: a clip is created", async () => {
  const media = await uploadFile(kinora, files.file("clip.mp4"), "Whole");
  await open(async (page) => {
    await openMedia(page, kinora, media);
    const card = page.getByRole("region", { name: "Clips" });
    const create = card.getByRole("button", { name: "Create a clip" });
    await create.focus(); // The keys of the player before it would play the media.
    await page.keyboard.press("Enter");
    await typeInto(page, card.getByLabel("Start in seconds"), "3");
    await typeInto(page, card.getByLabel("End in seconds"), "1");
    await page.keyboard.press("Enter");
    await card.getByText("End in seconds must be later than startTime").waitFor();
    await fits(page, "form of a clip with a wrong field");
    await typeInto(page, card.getByLabel("Start in seconds"), "0");
    await typeInto(page, card.getByLabel("End in seconds"), "2");
    await page.keyboard.press("Enter");
    await toast(page, "Clip created");
    await card.getByRole("link", { name: /^Clip of/ }).waitFor();
  });
});
