// What the library does to many media: selection, progress, failures, roles. Needs `make web`, the binary
// (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setUp, toast } from "./support/dashboard.mjs";
import { fits } from "./support/fit.mjs";
import { assertSelected, entryOf, madeUpMedia, makeUpLibrary, openLibrary, select } from "./support/library.mjs";
import { ffmpeg, startSite } from "./support/site.mjs";
import { start } from "./support/start.mjs";

const { kinora, site, open } = await start({ site: startSite });
await ffmpeg(site.folder, "-f lavfi -i sine=f=440:d=2 -c:a aac a.m4a");

const bar = (page) => page.getByRole("region", { name: "Selection" });

/** Ready media of the server with these titles, the last one newest. */
async function createMedia(...titles) {
  const media = [];
  for (const title of titles) {
    const { id } = await kinora.create(`${site.address}/media/a.m4a`);
    await kinora.ask(`/v1/on-demand/${id}`, { method: "PATCH", body: JSON.stringify({ title, metadata: { kept: "yes" } }) });
    media.push({ id, title });
  }
  return media;
}

test("metadata, source access, playlist, copied ids and deletion of selected media", async () => {
  const [one, two, three] = await createMedia("One", "Two", "Three");
  await open(async (page, context) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await setUp(kinora, page);
    await openLibrary(page, kinora.address);
    await select(page, "Three", "One");
    await assertSelected(page, 2);
    await fits(page, "selection");

    await bar(page).getByRole("button", { name: "Copy ids" }).click();
    await toast(page, "Copied");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${three.id}\n${one.id}`);

    await bar(page).getByRole("button", { name: "Set metadata" }).click();
    const metadata = page.getByRole("dialog", { name: "Set metadata" });
    await metadata.getByLabel("Key").fill("genre");
    await metadata.getByLabel("Value").fill("<b>travel</b>");
    await fits(page, "dialog of metadata");
    await metadata.getByRole("button", { name: "Change 2 media" }).click();
    await toast(page, "Metadata of 2 media changed");
    assert.deepEqual((await kinora.media(one.id)).metadata, { kept: "yes", genre: "<b>travel</b>" });
    assert.deepEqual((await kinora.media(two.id)).metadata, { kept: "yes" });

    await select(page, "Three", "Two");
    await bar(page).getByRole("button", { name: "Source access" }).click();
    const access = page.getByRole("dialog", { name: "Source access" });
    await access.getByRole("radio", { name: "Yes" }).click();
    await access.getByRole("button", { name: "Change 2 media" }).click();
    await toast(page, "Source access of 2 media changed");
    assert.equal((await kinora.media(two.id)).sourceAccess, true);
    assert.equal((await kinora.media(one.id)).sourceAccess, false);

    await select(page, "Three", "Two");
    await bar(page).getByRole("button", { name: "Add to playlist" }).click();
    const playlist = page.getByRole("dialog", { name: "Add to playlist" });
    await playlist.getByLabel("Name").fill("Evening");
    await fits(page, "dialog of a playlist");
    await playlist.getByRole("button", { name: "Add 2 media" }).click();
    await toast(page, "2 media added to the playlist");
    const [listed] = await kinora.ask("/v1/on-demand/playlists");
    const { name, mediaList } = await kinora.ask(`/v1/on-demand/playlists/${listed.id}`);
    assert.deepEqual([name, mediaList.map(({ id }) => id)], ["Evening", [three.id, two.id]], "in the order of the selection");

    await select(page, "Three", "One");
    await bar(page).getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 2 media?" });
    await dialog.getByText("There is no way back").waitFor();
    await fits(page, "dialog of a deletion");
    await page.keyboard.press("Enter"); // Cancel has the focus
    await dialog.waitFor({ state: "detached" });
    await bar(page).getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete 2 media" }).click();
    await toast(page, "2 media deleted");
    await entryOf(page, "Three").waitFor({ state: "detached" });
    await entryOf(page, "Two").waitFor();
    await assert.rejects(kinora.media(one.id));
  });
});

test("what fails stays selected, is listed with its reason, and can be tried again", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const media = Array.from({ length: 20 }, (_, place) => madeUpMedia(20 - place));
    await makeUpLibrary(page, media);
    let isBroken = true;
    let atOnce = 0;
    let atOnceMax = 0;
    await page.route(/\/source-access$/, async (route) => {
      atOnceMax = Math.max(atOnceMax, (atOnce += 1));
      const place = Number(new URL(route.request().url()).pathname.split("/").at(-2).slice(-12));
      await new Promise((next) => setImmediate(next));
      atOnce -= 1;
      if (isBroken && place % 10 === 0) await route.fulfill({ status: 403, json: { success: false, error: { code: 403, message: "no", description: "the media is locked" } } });
      else await route.fulfill({ json: { success: true, data: {} } });
    });
    await openLibrary(page, kinora.address);
    await select(page, "Media 20");
    await bar(page).getByRole("button", { name: "Select all 20" }).click();
    await assertSelected(page, 20);
    await bar(page).getByRole("button", { name: "Source access" }).click();
    await page.getByRole("button", { name: "Change 20 media" }).click();
    const dialog = page.getByRole("dialog", { name: "Source access" });
    await dialog.getByText("18 done, 2 failed.").waitFor();
    assert.equal(await dialog.getByText("The media is locked.").count(), 2);
    assert.ok(atOnceMax <= 6, `${atOnceMax} requests at once`);
    await fits(page, "failures");
    await dialog.getByRole("button", { name: "Close" }).click();
    await assertSelected(page, 2);
    await bar(page).getByRole("button", { name: "Source access" }).click();
    await page.getByRole("button", { name: "Change 2 media" }).click();
    await dialog.getByText("0 done, 2 failed.").waitFor();
    isBroken = false;
    await dialog.getByRole("button", { name: "Try these again" }).click();
    await toast(page, "Source access of 2 media changed");
    await bar(page).waitFor({ state: "detached" });
  });
});

test("an unreadable response, a defect and a limit end their steps, and the others go on", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await makeUpLibrary(page, Array.from({ length: 10 }, (_, place) => madeUpMedia(10 - place)));
    const error = { code: 429, message: "too many requests", description: "this access token may send 60 requests within 60 seconds" };
    const answers = {
      10: { contentType: "text/html", body: "<h1>The page of a proxy</h1>" },
      9: { json: { success: true, data: {} } }, // without metadata
      8: { status: 429, headers: { "retry-after": "0" }, json: { success: false, error } },
    };
    await page.route(/\/on-demand\/[0-9a-f-]{36}$/, (route) => {
      const answer = answers[Number(route.request().url().slice(-12))];
      return answer === undefined ? route.fallback() : route.fulfill(answer);
    });
    await openLibrary(page, kinora.address);
    await select(page, "Media 10");
    await bar(page).getByRole("button", { name: "Select all 10" }).click();
    await bar(page).getByRole("button", { name: "Set metadata" }).click();
    const dialog = page.getByRole("dialog", { name: "Set metadata" });
    await dialog.getByLabel("Key").fill("genre");
    await dialog.getByRole("button", { name: "Change 10 media" }).click();
    await dialog.getByText("7 done, 3 failed.").waitFor();
    const reasons = await dialog.getByRole("list", { name: "Failed" }).getByRole("listitem").allInnerTexts();
    assert.deepEqual(reasons.map((reason) => reason.split("\n").at(-1).split(/[.:]/, 1)[0]).sort(), [
      "An error of this page stopped the change",
      "The response of the server cannot be read",
      "Too many requests in a short time",
    ]);
    for (const number of [8, 9, 10]) delete answers[number];
    await dialog.getByRole("button", { name: "Try these again" }).click();
    await toast(page, "Metadata of 10 media changed");
  });
});

test("a cleared selection stays cleared when “select all” answers late", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await makeUpLibrary(page, Array.from({ length: 20 }, (_, place) => madeUpMedia(20 - place)));
    await openLibrary(page, kinora.address);
    for (const end of ["Clear the selection", "filter", "Escape"]) {
      await select(page, "Media 20");
      let resolve;
      const held = new Promise((next) => (resolve = next));
      let isFirst = true;
      const hold = (route) => {
        if (!isFirst) return route.fallback();
        isFirst = false;
        return resolve(route);
      };
      await page.route(/\/on-demand\?/, hold);
      await bar(page).getByRole("button", { name: "Select all 20" }).click();
      const route = await held;
      if (end === "filter") await page.getByRole("combobox", { name: "State" }).selectOption("Ready");
      else if (end === "Escape") await entryOf(page, "Media 20").getByRole("link").press("Escape");
      else await bar(page).getByRole("button", { name: end }).click();
      await bar(page).waitFor({ state: "detached" });
      await select(page, "Media 19");
      await route.fallback();
      await page.unroute(/\/on-demand\?/, hold);
      await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
      await assertSelected(page, 1);
      await bar(page).getByRole("button", { name: "Clear the selection" }).click();
    }
  });
});

test("a change can be stopped; what has not started stays selected", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await makeUpLibrary(page, Array.from({ length: 30 }, (_, place) => madeUpMedia(30 - place)));
    const held = [];
    await page.route(/\/source-access$/, (route) => void held.push(route));
    await openLibrary(page, kinora.address);
    await select(page, "Media 30");
    await bar(page).getByRole("button", { name: "Select all 30" }).click();
    await bar(page).getByRole("button", { name: "Source access" }).click();
    await page.getByRole("button", { name: "Change 30 media" }).click();
    const dialog = page.getByRole("dialog", { name: "Source access" });
    await dialog.getByText("0 of 30").waitFor();
    await fits(page, "progress");
    await dialog.getByRole("button", { name: "Stop" }).click();
    await dialog.getByText("Stopping").waitFor();
    assert.equal(held.length, 6);
    for (const route of held) await route.fulfill({ json: { success: true, data: {} } });
    await dialog.getByText("6 done, 24 not started.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await assertSelected(page, 24);
    assert.equal(held.length, 6);
  });
});

test("many media are deleted only after their number is typed; at most 500 are selected at once", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const media = Array.from({ length: 600 }, (_, place) => madeUpMedia(600 - place));
    const asked = await makeUpLibrary(page, media);
    await openLibrary(page, kinora.address);
    await select(page, "Media 600");
    await bar(page).getByRole("button", { name: "Select the first 500" }).click();
    await bar(page).getByText("500 selected").waitFor();
    await bar(page).getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 500 media?" });
    await dialog.getByText("and 495 more").waitFor();
    const button = dialog.getByRole("button", { name: "Delete 500 media" });
    assert.equal(await button.getAttribute("aria-disabled"), "true");
    await dialog.getByLabel("Type 500 to confirm").fill("500");
    await button.click();
    await toast(page, "500 media deleted");
    assert.equal(asked.filter(({ method }) => method === "DELETE").length, 500);
    assert.equal(media.length, 100);
    await page.getByText("100 media", { exact: true }).waitFor();
  });
});

test("a viewer selects and copies ids, and changes nothing", async () => {
  await open(async (page) => {
    await setUp(kinora, page, { role: "viewer" });
    await makeUpLibrary(page, [madeUpMedia(1)]);
    await openLibrary(page, kinora.address);
    await select(page, "Media 1");
    const names = await bar(page).getByRole("button").evaluateAll((buttons) => buttons.map((button) => button.ariaLabel ?? button.textContent));
    assert.deepEqual(names, ["Copy ids", "Clear the selection"]);
    assert.equal(await page.getByRole("button", { name: /Upload|URL/ }).count(), 0);
  });
});
