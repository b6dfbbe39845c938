// What is typed, or shown once, is not lost without a question: settings of an upload, links, secrets. Needs
// `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setUp, toast } from "./support/dashboard.mjs";
import { dropFiles, hostIsThere, sheet } from "./support/dashboard-uploads.mjs";
import { makeFiles } from "./support/files.mjs";
import { fits, hasFocus } from "./support/fit.mjs";
import { openPage } from "./support/organisation.mjs";
import { start } from "./support/start.mjs";
import { createToken, panelOf, TOKENS_PAGE } from "./support/tokens.mjs";

const { files, kinora, open } = await start({ files: makeFiles });

/** Opens the library after another page, so that Back has one to return to. */
async function openAfterAccount(page) {
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
  await page.getByRole("navigation", { name: "Media" }).getByRole("link", { name: "Library" }).click();
  await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
  await hostIsThere(page);
}

/** Reloads the page, and stays when the browser asks. */
async function staysAtReload(page) {
  const asked = page.waitForEvent("dialog");
  const reload = page.evaluate(() => location.reload());
  const native = await asked;
  assert.equal(native.type(), "beforeunload");
  await native.dismiss();
  await reload;
}

test("changed titles of an upload survive Cancel, each Escape, Back and a reload", async () => {
  const clip = await files.clip("talk.mp4", 300_000);
  await open(async (page) => {
    await setUp(kinora, page);
    await openAfterAccount(page);
    await dropFiles(page, [clip]);
    const dialog = sheet(page);
    const title = dialog.getByLabel("Title of talk.mp4");
    await title.fill("A title of my own");
    const ask = page.getByRole("dialog", { name: "Discard your changes?" });
    const keep = ask.getByRole("button", { name: "Keep editing" });

    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.ok(await hasFocus(keep), "Enter keeps the changes");
    await keep.click();
    await title.focus();
    // Chromium closes a dialog at the second Escape, and the page cannot prevent it there.
    for (let presses = 1; presses <= 6; presses += 1) {
      await page.keyboard.press("Escape");
      await ask.waitFor({ state: presses % 2 === 1 ? "visible" : "detached" });
      assert.equal(await title.inputValue(), "A title of my own", `Escape ${presses}`);
    }
    assert.ok(await hasFocus(title), "the focus comes back");
    await page.goBack();
    await keep.click();
    await staysAtReload(page);
    assert.equal(await title.inputValue(), "A title of my own");

    await page.goBack();
    await ask.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    await dialog.waitFor({ state: "detached" });
  });
});

test("an unchanged sheet closes without a question, and Back has one step", async () => {
  const clip = await files.clip("talk.mp4", 300_000);
  await open(async (page) => {
    await setUp(kinora, page);
    await openAfterAccount(page);
    for (const close of [(dialog) => dialog.getByRole("button", { name: "Cancel" }).click(), () => page.keyboard.press("Escape")]) {
      await dropFiles(page, [clip]);
      await sheet(page).getByLabel("Title of talk.mp4").waitFor();
      await close(sheet(page));
      await sheet(page).waitFor({ state: "detached" });
    }
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
  });
});

test("a dialog that the browser closes by itself stays open", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const clip = await files.clip("talk.mp4", 300_000);
    await hostIsThere(page);
    await dropFiles(page, [clip]);
    const title = sheet(page).getByLabel("Title of talk.mp4");
    await title.fill("Typed");
    // As the second “back” on Android: no `cancel` event that the page could prevent.
    await page.evaluate(() => document.querySelector("dialog.sheet").close());
    const ask = page.getByRole("dialog", { name: "Discard your changes?" });
    await ask.getByRole("button", { name: "Keep editing" }).click();
    assert.equal(await title.inputValue(), "Typed");
    assert.ok(await hasFocus(title));
  });
});

test("an invitation link that was not copied asks before it is closed or left", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "Workspaces");
    await openPage(page, "People");
    await page.getByRole("button", { name: "Invite a person" }).click();
    await page.getByLabel("Email").fill("ines@northlight.example");
    await page.getByRole("button", { name: "Create the link" }).click();
    const panel = page.getByRole("region", { name: "Invitation link for ines@northlight.example" });
    const closing = page.getByRole("dialog", { name: "Close without the link?" });
    await panel.getByRole("button", { name: "Done" }).click();
    assert.ok(await hasFocus(closing.getByRole("button", { name: "Keep it" })));
    await fits(page, "link that was not copied");
    await page.keyboard.press("Escape");
    await closing.waitFor({ state: "detached" });
    const leaving = page.getByRole("dialog", { name: "Leave without the link?" });
    await page.goBack();
    await leaving.getByRole("button", { name: "Stay" }).click();
    await page.getByRole("navigation", { name: "Organisation" }).getByRole("link", { name: "Workspaces" }).click();
    await leaving.getByRole("button", { name: "Stay" }).click();

    await panel.getByRole("button", { name: "Copy the link" }).click();
    await toast(page, "Copied");
    await panel.getByRole("button", { name: "Done" }).click();
    await panel.waitFor({ state: "detached" });
    assert.ok(await hasFocus(page.getByRole("heading", { level: 1 })));
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Workspaces" }).waitFor();
  });
});

test("a link that is closed without a copy is gone, and so is the question", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "People");
    await page.getByRole("button", { name: "Invite a person" }).click();
    await page.getByLabel("Email").fill("noor@northlight.example");
    await page.getByRole("button", { name: "Create the link" }).click();
    const panel = page.getByRole("region", { name: "Invitation link for noor@northlight.example" });
    await panel.getByRole("button", { name: "Done" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await panel.waitFor({ state: "detached" });
    // A new one can be made.
    await page.getByRole("button", { name: "Take back: noor@northlight.example" }).waitFor();
    await openPage(page, "Workspaces");
  });
});

test("after a secret is saved, each Back leaves one page", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "Workspaces");
    await openPage(page, "Access Tokens");
    await createToken(page, "Saved");
    await page.getByRole("button", { name: "Copy the secret" }).click();
    await toast(page, "Copied");
    await openPage(page, "People");
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Access Tokens" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Workspaces" }).waitFor();
  });
});

test("a secret below a sheet is kept, by a link and by Back", async () => {
  const clip = await files.clip("talk.mp4", 300_000);
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "Workspaces");
    await openPage(page, "Access Tokens");
    await createToken(page, "Kept");
    await hostIsThere(page);
    const title = sheet(page).getByLabel("Title of talk.mp4");
    const discarding = page.getByRole("dialog", { name: "Discard your changes?" });
    const leaving = page.getByRole("dialog", { name: "Leave without the secret?" });
    const change = async () => {
      await dropFiles(page, [clip]);
      await title.fill("A title of my own");
    };
    await change();
    await page.keyboard.press("Escape");
    await discarding.getByRole("button", { name: "Discard" }).click();
    await sheet(page).waitFor({ state: "detached" });
    await page.getByRole("navigation", { name: "Media" }).getByRole("link", { name: "Library" }).click();
    await leaving.getByRole("button", { name: "Stay" }).click();

    await change();
    await page.goBack();
    await discarding.getByRole("button", { name: "Keep editing" }).click();
    assert.equal(await title.inputValue(), "A title of my own");
    await page.goBack();
    await discarding.getByRole("button", { name: "Discard" }).click();
    await sheet(page).waitFor({ state: "detached" });
    await leaving.getByRole("button", { name: "Stay" }).click();
    await panelOf(page, "Kept").waitFor();

    // Changed and changed back: the sheet asks nothing, the page below it does.
    await change();
    await title.fill("talk");
    await page.goBack();
    await leaving.getByRole("button", { name: "Stay" }).click();
    await title.fill("Another title");
    await page.goBack();
    await discarding.getByRole("button", { name: "Discard" }).click();
    await leaving.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("heading", { level: 1, name: "Workspaces" }).waitFor();
  });
});

test("a tab without an earlier page asks again after Back had nowhere to go", async () => {
  const clip = await files.clip("talk.mp4", 300_000);
  await open(async (page, context) => {
    await setUp(kinora, page);
    const opened = context.waitForEvent("page");
    await page.evaluate((href) => Object.assign(document.createElement("a"), { href, target: "_blank", rel: "noopener" }).click(), TOKENS_PAGE);
    const tab = await opened;
    await hostIsThere(tab);
    assert.equal(await tab.evaluate(() => history.length), 1);
    await dropFiles(tab, [clip]);
    const title = sheet(tab).getByLabel("Title of talk.mp4");
    await title.click();
    await title.fill("Typed");
    await title.fill("talk");
    await tab.goBack();
    await title.fill("Typed again");
    await staysAtReload(tab);
    const discard = tab.getByRole("dialog", { name: "Discard your changes?" }).getByRole("button", { name: "Discard" });
    await tab.goBack();
    await discard.click();
    await sheet(tab).waitFor({ state: "detached" });

    await createToken(tab, "Without an earlier page");
    const leave = tab.getByRole("dialog", { name: "Leave without the secret?" }).getByRole("button", { name: "Leave" });
    await tab.goBack();
    await leave.click();
    await leave.waitFor({ state: "detached" });
    await tab.getByRole("link", { name: "Library" }).click();
    await leave.click();
    await tab.getByRole("heading", { level: 1, name: "Library" }).waitFor();
  });
});
