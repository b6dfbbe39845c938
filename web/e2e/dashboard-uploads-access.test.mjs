// Uploads of the dashboard for all people: the overlay of a drop and each dialog in axe, and the same
// by keyboard alone. Needs `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and
// Chromium.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startBrowser } from "./support/browser.mjs";
import { setUp, withPage } from "./support/dashboard.mjs";
import {
  chooseFiles, hostIsThere, limitRate, openUploads, rowOf, sheet, tray, uploadFiles, waitForPercent, withoutHandles,
} from "./support/dashboard-uploads.mjs";
import { makeFiles } from "./support/files.mjs";
import { fits, hasFocus, tabTo } from "./support/fit.mjs";
import { startKinora } from "./support/kinora.mjs";

const MB = 1_000_000;

let files;
let kinora;
let browser;

before(async () => {
  [files, kinora, browser] = await Promise.all([makeFiles(), startKinora(), startBrowser()]);
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
  await files?.remove();
});

/** Opens a page of its own, with the picker that a test can operate. */
const open = (use) =>
  withPage(browser, kinora.address, async (page, context) => {
    await withoutHandles(context);
    page.on("dialog", (dialog) => dialog.accept()); // leaving asks while bytes are sent
    await setUp(kinora, page);
    await hostIsThere(page);
    await use(page);
  });

test("the overlay of a drop fits, and goes when the files leave the window", async () => {
  await open(async (page) => {
    const transfer = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["x"], "talk.mp4", { type: "video/mp4" }));
      return data;
    });
    await page.dispatchEvent("main h1", "dragenter", { dataTransfer: transfer });
    await page.getByText("Drop to upload").waitFor();
    await page.getByText("to Development").waitFor();
    await fits(page, "overlay of a drop");
    await page.dispatchEvent("body", "dragleave", { dataTransfer: transfer });
    await page.getByText("Drop to upload").waitFor({ state: "detached" });
  });
});

test("keyboard alone uploads a file with its own title, and adds another", async () => {
  const [one, two] = await Promise.all(["one.mp4", "two.mp4"].map((name) => files.clip(name, 300_000)));
  await open(async (page) => {
    await chooseFiles(page, () => page.keyboard.press("u"), [one.path]);
    const dialog = sheet(page);
    await tabTo(page, dialog.getByLabel("Title of one.mp4"));
    await page.keyboard.press("Control+A");
    await page.keyboard.type("First");
    await tabTo(page, dialog.getByRole("button", { name: "Add files" }));
    await chooseFiles(page, () => page.keyboard.press("Enter"), [two.path]);
    await dialog.getByLabel("Title of two.mp4").waitFor();
    await tabTo(page, dialog.getByRole("radio", { name: "Anyone with the link" }));
    await page.keyboard.press("ArrowRight");
    assert.ok(await dialog.getByRole("radio", { name: "Only with a token" }).isChecked());
    await tabTo(page, dialog.getByRole("button", { name: "Upload 2 files" }));
    await page.keyboard.press("Enter");
    await tray(page).getByText("2 files uploaded").waitFor();
    const media = await kinora.ask("/v1/on-demand?limit=2");
    assert.deepEqual(media.map(({ title }) => title).sort(), ["First", "two"]);
    assert.deepEqual(media.map(({ playbackIds: [{ accessPolicy }] }) => accessPolicy), ["private", "private"]);
  });
});

test("dialogs that stop uploads fit, and Enter stops nothing", async () => {
  const clip = await files.clip("long.mp4", 8 * MB);
  await kinora.createUpload({ pushMediaSettings: { title: "From a program" } });
  await open(async (page) => {
    await limitRate(page, MB);
    await uploadFiles(page, [clip.path]);
    await waitForPercent(page, "long", 1);
    await tray(page).getByRole("button", { name: "Pause all" }).click();
    await tray(page).getByText("1 upload paused").waitFor();
    await fits(page, "tray with a paused upload");

    await page.getByRole("button", { name: /^Your menu/ }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    const signOut = page.getByRole("dialog", { name: "Sign out and forget the uploads?" });
    const stay = signOut.getByRole("button", { name: "Stay signed in" });
    await stay.waitFor();
    assert.ok(await hasFocus(stay), "Enter stays");
    await fits(page, "question before the sign-out");
    await stay.click();
    await signOut.waitFor({ state: "detached" });

    await openUploads(page);
    for (const title of ["long", "From a program"]) {
      const button = rowOf(page, title).getByRole("button", { name: `Cancel: ${title}` });
      await tabTo(page, button);
      await page.keyboard.press("Enter");
      const cancel = page.getByRole("dialog", { name: "Cancel this upload?" });
      await cancel.waitFor();
      await fits(page, `question before “${title}” is cancelled`);
      await page.keyboard.press("Enter");
      await cancel.waitFor({ state: "detached" });
      assert.ok(await hasFocus(button), "the focus comes back");
    }
    await rowOf(page, "long").getByText("Paused").waitFor();
  });
});

test("a small screen shows the buttons of the sheet whole, a folded tray, and each cross beside its title", async () => {
  const clips = await Promise.all(["one", "two", "three"].map((name) => files.clip(`${name}.mp4`, 4 * MB)));
  const boxOf = (locator) => locator.boundingBox();
  await open(async (page) => {
    await page.setViewportSize({ width: 360, height: 760 });
    await page.reload();
    await hostIsThere(page);
    await limitRate(page, MB / 2);
    await page.getByRole("heading", { level: 1 }).click();
    await chooseFiles(page, () => page.keyboard.press("u"), clips.map(({ path }) => path));
    const submit = sheet(page).getByRole("button", { name: "Upload 3 files" });
    await submit.waitFor();
    const [dialog, button] = [await boxOf(sheet(page)), await boxOf(submit)];
    assert.ok(button.y + button.height <= dialog.y + dialog.height, "the button ends inside the sheet");
    await submit.click();
    await sheet(page).waitFor({ state: "detached" });

    await tray(page).getByText("Uploading 3 files, 0 finished").waitFor();
    assert.equal(await tray(page).getByRole("listitem").count(), 0, "the tray is folded");
    const bar = await boxOf(tray(page).getByRole("progressbar"));
    assert.ok(bar.y - (await boxOf(tray(page))).y <= 1, "its bar is on the edge");
    await tray(page).getByRole("button", { name: "Expand" }).click();
    await tray(page).getByRole("listitem").filter({ hasText: "of 4 MB at" }).first().waitFor();
    assert.equal(await tray(page).getByText(/ left$/).count(), 1, "one remaining time for all");

    await tray(page).getByRole("link", { name: "All uploads" }).click();
    await page.getByRole("heading", { level: 1, name: "Uploads" }).waitFor();
    for (const name of ["one", "two", "three"]) {
      const row = rowOf(page, name);
      const [title, cross] = [await boxOf(row.locator("b")), await boxOf(row.getByRole("button", { name: `Cancel: ${name}` }))];
      assert.ok(cross.y < title.y + title.height && title.y < cross.y + cross.height, `the cross is beside ${name}`);
    }
  });
});
