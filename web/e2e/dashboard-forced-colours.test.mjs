// The dashboard in forced colours, such as those of a contrast theme: focus, selection, progress and
// state are visible without colours of the page. Needs `make web`, the binary (`KINORA_BIN`, or
// target/debug/kinora), ffmpeg and Chromium.
//
// `KINORA_SHOTS=FOLDER` writes an image of each page.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startBrowser } from "./support/browser.mjs";
import { setUp, withPage } from "./support/dashboard.mjs";
import { chooseFiles, confirmSheet, hostIsThere, limitRate, openUploads, sheet, tray, waitForPercent, withoutHandles } from "./support/dashboard-uploads.mjs";
import { makeFiles } from "./support/files.mjs";
import { tabTo } from "./support/fit.mjs";
import { startKinora } from "./support/kinora.mjs";
import { entryOf, select } from "./support/library.mjs";
import { uploadFile } from "./support/media.mjs";

let files;
let kinora;
let browser;

before(async () => {
  [files, kinora, browser] = await Promise.all([makeFiles(), startKinora(), startBrowser()]);
  for (const title of ["First", "Second"]) await uploadFile(kinora, (await files.clip(`${title}.mp4`, 300_000)).path, title);
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
  await files?.remove();
});

const open = (use) =>
  withPage(browser, kinora.address, async (page, context) => {
    await withoutHandles(context);
    page.on("dialog", (dialog) => dialog.accept()); // leaving asks while bytes are sent
    await setUp(kinora, page);
    await page.emulateMedia({ forcedColors: "active" });
    await use(page);
  });

async function shoot(page, name) {
  const folder = process.env.KINORA_SHOTS;
  if (folder) await page.screenshot({ path: join(folder, `forced-${name}.png`) });
}

/** What is visible of an element, or of one of its pseudo-elements, without its text. */
const lookOf = (locator, pseudo) =>
  locator.evaluate((element, pseudo) => {
    const style = getComputedStyle(element, pseudo);
    const outline = style.outlineStyle === "none" ? "none" : `${style.outlineWidth} ${style.outlineStyle} ${style.outlineColor}`;
    return { outline, background: style.backgroundColor, edge: `${style.borderBottomWidth} ${style.borderBottomStyle} ${style.borderBottomColor}` };
  }, pseudo);

/** Asserts that the keyboard's focus changes what is visible of `shown`, which `locator` is or contains. */
async function showsFocus(page, locator, shown = locator) {
  await page.getByRole("heading", { level: 1 }).first().click();
  const before = await lookOf(shown);
  await tabTo(page, locator);
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Tab");
  const { outline } = await lookOf(shown);
  assert.ok(outline !== "none" && outline !== before.outline, `the focus is not visible: ${outline}`);
}

test("library: focus, selected entry, view and page are visible", async () => {
  await open(async (page) => {
    await hostIsThere(page);
    for (const view of ["Grid", "List"]) {
      const button = page.getByRole("button", { name: view, exact: true });
      await button.click();
      await entryOf(page, "First").waitFor();
      const other = page.getByRole("button", { name: view === "Grid" ? "List" : "Grid", exact: true });
      assert.notDeepEqual(await lookOf(button), await lookOf(other), "the view");
      await select(page, "First");
      assert.notDeepEqual(await lookOf(entryOf(page, "First")), await lookOf(entryOf(page, "Second")), "the selection");
      await shoot(page, `library-${view}`);
      await showsFocus(page, entryOf(page, "First").getByRole("link"));
      await showsFocus(page, button);
      await shoot(page, `library-${view}-focus`);
      await page.getByRole("button", { name: "Clear the selection" }).click();
    }
    const media = page.getByRole("navigation", { name: "Media" });
    const library = media.getByRole("link", { name: "Library" });
    assert.notDeepEqual(await lookOf(library), await lookOf(media.getByRole("link", { name: "Uploads" })), "the page");
    await showsFocus(page, library);
  });
});

test("media: tab, state and focus are visible", async () => {
  await open(async (page) => {
    await entryOf(page, "Second").getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "Second" }).waitFor();
    const tabs = page.getByRole("navigation").filter({ has: page.getByRole("link", { name: "Code", exact: true }) });
    const code = tabs.getByRole("link", { name: "Code", exact: true });
    await code.click();
    await page.getByRole("group", { name: "Embed with an iframe" }).waitFor();
    const [current, another] = [await lookOf(code), await lookOf(tabs.getByRole("link", { name: /^Tracks/ }))];
    assert.notEqual(current.edge, another.edge, "the tab");
    await showsFocus(page, code);
    await shoot(page, "media");
  });
});

test("uploads: progress, choices and focus are visible", async () => {
  const clip = await files.clip("long.mp4", 8_000_000);
  await open(async (page) => {
    await hostIsThere(page);
    await limitRate(page, 1_000_000);
    await chooseFiles(page, () => page.keyboard.press("u"), [clip.path]);
    const radio = sheet(page).getByRole("radio", { name: "Anyone with the link" });
    const [chosen, other] = ["Anyone with the link", "Only with a token"].map((name) => sheet(page).locator("label").filter({ hasText: name }).locator("span"));
    assert.notDeepEqual(await lookOf(chosen), await lookOf(other), "the choice");
    await tabTo(page, radio);
    assert.notEqual((await lookOf(chosen)).outline, "none", "the focus");
    await shoot(page, "sheet");
    await confirmSheet(page);
    await waitForPercent(page, "long", 10);
    await tray(page).getByRole("button", { name: "Pause all" }).click();
    await openUploads(page);
    const bar = page.getByRole("progressbar", { name: "long" });
    await bar.waitFor();
    const [track, filled] = [await lookOf(bar), await lookOf(bar.locator("i"))];
    assert.notEqual(filled.background, track.background, "how far it is");
    assert.match(track.edge, /^[1-9]\S* solid/, "how far it has to go");
    await showsFocus(page, page.getByRole("button", { name: "Resume: long" }));
    await shoot(page, "uploads");
  });
});

test("sign-in: fields, focus and errors are visible", async () => {
  await open(async (page) => {
    await page.context().clearCookies();
    await page.goto(`${kinora.address}/dashboard/sign-in`);
    const email = page.getByLabel("Email");
    await email.fill("unknown@northlight.example");
    await page.getByLabel("Password", { exact: true }).fill("not this one");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    const note = page.locator(".note").filter({ hasText: "wrong" });
    await note.waitFor();
    for (const part of [note, email, page.getByRole("button", { name: "Sign in", exact: true })]) {
      assert.match((await lookOf(part)).edge, /^[1-9]\S* solid/, "an edge");
    }
    await showsFocus(page, email);
    await shoot(page, "sign-in");
  });
});
