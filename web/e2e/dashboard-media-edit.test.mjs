// The details of a media in the dashboard of a real server, edited by one and by two people. Needs
// `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PASSWORD, toast } from "./support/dashboard.mjs";
import { fits, hasFocus, tabTo } from "./support/fit.mjs";
import { change, makeFiles, openMedia, uploadFile } from "./support/media.mjs";
import { start } from "./support/start.mjs";

const { kinora, files, open } = await start({ files: makeFiles });
const cardOf = (page) => page.getByRole("region", { name: "Details" });
const conflictOf = (page) => page.getByRole("region", { name: "Another change came first" });

/** Opens the form of a new media. */
async function openForm(page, title) {
  const media = await uploadFile(kinora, files.file("tone.m4a"), title);
  await openMedia(page, kinora, media);
  await cardOf(page).getByRole("button", { name: "Edit" }).click();
  return media;
}

const save = (page) => cardOf(page).getByRole("button", { name: "Save" }).click();

test("title, creator and metadata change by keyboard alone", async () => {
  await open(async (page) => {
    const media = await uploadFile(kinora, files.file("tone.m4a"), "Before");
    await openMedia(page, kinora, media);
    const card = cardOf(page);
    await tabTo(page, card.getByRole("button", { name: "Edit" }));
    await page.keyboard.press("Enter");
    assert.ok(await hasFocus(card.getByLabel("Title")));
    await page.keyboard.press("Control+A");
    await page.keyboard.type("After");
    await page.keyboard.press("Tab");
    await page.keyboard.type("ines");
    await tabTo(page, card.getByRole("button", { name: "Add metadata" }));
    await page.keyboard.press("Enter");
    assert.ok(await hasFocus(card.getByLabel("Key 1")));
    await page.keyboard.type("series");
    await page.keyboard.press("Tab");
    await page.keyboard.type("open-water");
    await fits(page, "form");
    await page.keyboard.press("Enter");
    await toast(page, "Details saved");
    await page.getByRole("heading", { level: 1, name: "After" }).waitFor();
    const button = card.getByRole("button", { name: "Edit" });
    await button.waitFor();
    assert.ok(await hasFocus(button), "the focus comes back");
    const { title, creatorId, metadata } = await kinora.media(media.id);
    assert.deepEqual({ title, creatorId, metadata }, { title: "After", creatorId: "ines", metadata: { series: "open-water" } });
  });
});

test("rules of the server are shown at their fields", async () => {
  await open(async (page) => {
    const media = await openForm(page, "Rules");
    const card = cardOf(page);
    await card.getByLabel("Title").fill("x".repeat(256));
    await save(page);
    await card.getByText("Title must have at most 255 characters.").waitFor();
    assert.ok(await hasFocus(card.getByLabel("Title")));
    await card.getByLabel("Title").fill("Rules");
    await card.getByRole("button", { name: "Add metadata" }).click();
    await card.getByLabel("Key 1").fill("a");
    await card.getByLabel("Value 1").fill("y".repeat(256));
    await save(page);
    await card.getByText("a must have at most 255 characters").waitFor();
    await fits(page, "field errors");
    await card.getByRole("button", { name: "Remove a" }).click();
    await save(page);
    await toast(page, "Details saved");
    assert.deepEqual((await kinora.media(media.id)).metadata, {});
  });
});

test("two people edit one media: both versions are shown, mine is kept", async () => {
  await open(async (page) => {
    const media = await openForm(page, "At first");
    const card = cardOf(page);
    await card.getByLabel("Title").fill("Mine");
    await change(kinora, media, { title: "Theirs", metadata: { by: "them" } });
    await save(page);
    const conflict = conflictOf(page);
    await conflict.getByText("Mine", { exact: true }).waitFor();
    await conflict.getByText("them", { exact: true }).waitFor();
    assert.equal((await kinora.media(media.id)).title, "Theirs", "nothing is overwritten");
    await fits(page, "two versions");
    await conflict.getByRole("button", { name: "Keep mine" }).click();
    await toast(page, "Details saved");
    assert.equal((await kinora.media(media.id)).title, "Mine");
  });
});

test("two people edit one media: theirs is taken", async () => {
  await open(async (page) => {
    const media = await openForm(page, "At first");
    await cardOf(page).getByLabel("Title").fill("Mine");
    await change(kinora, media, { title: "Theirs" });
    await save(page);
    await conflictOf(page).getByRole("button", { name: "Take theirs" }).click();
    await page.getByRole("heading", { level: 1, name: "Theirs" }).waitFor();
    assert.equal((await kinora.media(media.id)).title, "Theirs");
  });
});

test("change of something else meanwhile is no conflict", async () => {
  await open(async (page) => {
    const media = await openForm(page, "At first");
    await cardOf(page).getByLabel("Title").fill("Mine");
    await change(kinora, media, { sourceAccess: true }, "/source-access");
    await save(page);
    await toast(page, "Details saved");
    const { title, sourceAccess } = await kinora.media(media.id);
    assert.deepEqual({ title, sourceAccess }, { title: "Mine", sourceAccess: true });
  });
});

test("session ends under the form: sign in above it, and it is saved", async () => {
  await open(async (page, context) => {
    const media = await openForm(page, "Before the end");
    await cardOf(page).getByLabel("Title").fill("After the end");
    await context.clearCookies();
    await save(page);
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.keyboard.press("Enter");
    await toast(page, "Details saved");
    assert.equal((await kinora.media(media.id)).title, "After the end");
  });
});

test("leaving the form with changes asks", async () => {
  await open(async (page) => {
    await openForm(page, "Kept");
    const card = cardOf(page);
    await card.getByLabel("Title").fill("Not saved");
    const leaving = page.getByRole("dialog", { name: "Leave without saving?" });
    await page.getByRole("link", { name: "Account" }).click();
    await leaving.getByRole("button", { name: "Stay" }).click();
    assert.equal(await card.getByLabel("Title").inputValue(), "Not saved");
    await page.getByRole("link", { name: "Tracks" }).click();
    await leaving.getByRole("button", { name: "Stay" }).click();
    const asked = page.waitForEvent("dialog");
    const reload = page.evaluate(() => location.reload());
    const native = await asked;
    assert.equal(native.type(), "beforeunload");
    await native.dismiss();
    await reload;
    assert.equal(await card.getByLabel("Title").inputValue(), "Not saved");
    await card.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "Tracks" }).click();
    await page.getByRole("table").waitFor();
    assert.equal(await leaving.count(), 0);
  });
});
