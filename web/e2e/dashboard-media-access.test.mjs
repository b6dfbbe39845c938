// The page of a media for all people: titles, widths, axe, viewers, keyboard. Needs `make web`, the binary
// (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { toast } from "./support/dashboard.mjs";
import { fits, hasFocus, tabTo } from "./support/fit.mjs";
import { change, goTo, HOSTILE_TITLE, makeFiles, openMedia, pagePath, playerOf, uploadFile } from "./support/media.mjs";
import { start } from "./support/start.mjs";

const { kinora, files, open } = await start({ files: makeFiles });
const upload = (title, ...options) => uploadFile(kinora, files.file("clip.mp4"), title, ...options);

test("hostile and long titles are shown as they are; every tab fits, and axe finds nothing", async () => {
  const media = await upload("Titles");
  await change(kinora, media, { title: HOSTILE_TITLE, metadata: { "<b>": "</dd>", ["k".repeat(255)]: "\u{1F3AC}".repeat(255) } });
  await open(async (page) => {
    await openMedia(page, kinora, media);
    await page.getByRole("button", { name: "More actions" }).waitFor();
    const heading = page.getByRole("heading", { level: 1 });
    assert.equal(await heading.evaluate((element) => element.textContent), HOSTILE_TITLE);
    await fits(page, "details");
    await change(kinora, media, { title: "\u{1F3AC}".repeat(255) });
    for (const tab of ["playback", "tracks", "renditions", "events", "code"]) {
      await goTo(page, kinora, media, tab);
      await page.locator(".card").first().waitFor();
      await fits(page, tab);
    }
  });
});

test("failed media says why and what to do", async () => {
  const media = await uploadFile(kinora, files.file("page.mp4"), "Broken").catch(() => null);
  const failed = media ?? (await kinora.ask("/v1/on-demand?limit=50")).find(({ title }) => title === "Broken");
  assert.equal(failed.status, "Failed");
  await open(async (page) => {
    await openMedia(page, kinora, failed);
    await page.getByRole("heading", { name: "This media failed" }).waitFor();
    await page.getByText(`Error code ${failed.error.code}`).waitFor();
    await page.locator(".head .tag.bad").getByText("Failed", { exact: true }).waitFor();
    assert.equal(await page.locator("iframe").count(), 0);
    await fits(page, "failed");
    await page.getByRole("link", { name: "Renditions" }).click();
    await page.getByText("Renditions are known when the media is ready").waitFor();
  });
});

test("viewer sees everything and changes nothing", async () => {
  const media = await upload("Only looked at");
  await open(async (page) => {
    const changes = [];
    page.on("request", (request) => {
      if (!["GET", "POST"].includes(request.method())) changes.push(request.url());
    });
    await openMedia(page, kinora, media, { role: "viewer" });
    await playerOf(page).waitFor({ state: "attached" });
    for (const tab of ["", "playback", "tracks", "renditions", "events", "code"]) {
      await goTo(page, kinora, media, tab);
      await page.locator(".card").first().waitFor();
      const names = await page.locator("main").getByRole("button").allInnerTexts();
      const forbidden = names.filter((name) => /add|create|edit|delete|save|change|more actions|thumbnail/i.test(name));
      assert.deepEqual(forbidden, [], tab);
    }
    assert.deepEqual(changes, []);
  });
});

test("keyboard alone deletes a media after the dialog", async () => {
  const media = await upload("Deleted");
  await open(async (page) => {
    await openMedia(page, kinora, media);
    await tabTo(page, page.getByRole("button", { name: "More actions" }));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("button", { name: "Delete media" }));
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Delete “Deleted”?" });
    await dialog.getByText("1 playback ID stops playing at once.").waitFor();
    assert.ok(await hasFocus(dialog.getByRole("button", { name: "Cancel" })));
    await fits(page, "delete");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await toast(page, "Media deleted");
    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    await assert.rejects(kinora.media(media.id), /404/);
    await page.goto(kinora.address + pagePath(media));
    await page.getByRole("heading", { level: 1, name: "No such media" }).waitFor();
    await fits(page, "no such media");
    await page.goto(kinora.address + pagePath(media, "events"));
    await page.getByRole("list", { name: "Events" }).getByText("video.media.deleted").first().waitFor();
    await fits(page, "events of a deleted media");
  });
});
