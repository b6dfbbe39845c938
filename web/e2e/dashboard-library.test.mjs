// The library of the dashboard: filters, search, what changes meanwhile. Needs `make web`, the binary
// (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { makeBusy } from "./support/busy.mjs";
import { setUp } from "./support/dashboard.mjs";
import { confirmSheet, dropFiles, hostIsThere } from "./support/dashboard-uploads.mjs";
import { fits, hasFocus } from "./support/fit.mjs";
import { entryOf, fewFrames, items, madeUpMedia, makeUpLibrary, many, openLibrary, select } from "./support/library.mjs";
import { ffmpeg, startSite } from "./support/site.mjs";
import { start } from "./support/start.mjs";

const HTML = '<img src=x onerror="alert(1)"><b>bold</b>';

const { kinora, open } = await start();

test("without media the page names the ways to fill the workspace", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await page.getByRole("heading", { name: "No media yet" }).waitFor();
    await page.getByRole("group", { name: "the request" }).getByText("/v1/on-demand").waitFor();
    await page.getByRole("link", { name: "Access Tokens" }).last().waitFor();
    await fits(page, "library without media");
  });
  await open(async (page) => {
    await setUp(kinora, page, { role: "viewer" });
    await page.getByText("Your role does not allow you to add any").waitFor();
    assert.equal(await page.getByRole("button", { name: /Upload|URL|Choose/ }).count(), 0);
  });
});

test("media from a URL: wrong address, then fetched and ready without a reload", async () => {
  const site = await startSite();
  try {
    await ffmpeg(site.folder, "-f lavfi -i testsrc2=s=320x180:r=24:d=2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p clip.mp4");
    await open(async (page) => {
      await setUp(kinora, page);
      await page.getByRole("button", { name: "From a URL" }).click();
      const panel = page.getByRole("region", { name: "Add media from a URL" });
      await panel.getByLabel("URL").fill("ftp://example.com/a.mp4");
      await panel.getByRole("button", { name: "Add", exact: true }).click();
      await panel.locator(".problem").waitFor();
      assert.ok(await hasFocus(panel.getByLabel("URL")), "the focus is on the wrong field");
      await fits(page, "form of a URL with a wrong field");
      await panel.getByLabel("URL").fill(`${site.address}/media/clip.mp4`);
      await panel.getByLabel("Title").fill("Harbour's morning");
      await panel.getByText("The same as a request").click();
      const curl = await panel.getByRole("group", { name: "the request" }).innerText();
      assert.match(curl, /"title":"Harbour'\\''s morning"/);
      await panel.getByRole("button", { name: "Add", exact: true }).click();
      await entryOf(page, "Harbour's morning").getByText("Ready").waitFor();
      await page.getByText("1 media", { exact: true }).waitFor();
      const { path } = await page.evaluate(() => ({ path: location.pathname }));
      await entryOf(page, "Harbour's morning").getByRole("link").click();
      await page.waitForURL(/\/media\/[0-9a-f-]{36}$/);
      assert.equal(await page.getByRole("navigation", { name: "Media" }).getByRole("link", { name: "Library" }).getAttribute("aria-current"), "page");
      await page.goBack();
      await page.waitForURL(`**${path}`);

      const [media] = await kinora.ask("/v1/on-demand");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find anything" }).fill("harb");
      await page.getByRole("option", { name: /^Harbour's morning/ }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByLabel("Title begins with").fill(media.playbackIds[0].id);
      await page.waitForURL(`**/media/${media.id}/playback`);
    });
  } finally {
    await site.stop();
  }
});

test("filters are in the address and in the request; without a match the page says what to loosen", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const asked = await makeUpLibrary(page, [madeUpMedia(3, { title: "Ocean" }), madeUpMedia(2, { title: "Oculus", status: "Failed", error: { code: "not_media", message: "a web page" } }), madeUpMedia(1)]);
    await openLibrary(page, kinora.address);
    await page.getByText("no media file").waitFor();
    await page.getByLabel("Title begins with").fill("oc");
    await page.waitForURL(/\?title=oc$/);
    await page.getByText("2 media match the filters").waitFor();
    await page.getByRole("combobox", { name: "State" }).selectOption("Failed");
    await page.waitForURL(/state=Failed/);
    await page.getByText("1 media matches the filters").waitFor();
    await page.getByRole("button", { name: "Creator" }).click();
    await page.getByLabel("Creator ID").fill("ann");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.waitForURL(/creator=ann/);
    await page.getByRole("button", { name: "Metadata" }).click();
    await page.getByLabel("Key").fill("genre");
    await page.getByLabel("Value").fill("travel");
    await fits(page, "form of a filter");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.waitForURL(/meta\.genre=travel/);
    await page.getByRole("button", { name: "Created" }).click();
    await page.getByLabel("From", { exact: true }).fill("2026-11-01");
    await page.waitForURL(/from=2026-/);
    await page.keyboard.press("Escape");
    await page.reload();
    await items(page).first().waitFor();
    const last = asked.filter(({ query }) => query.has("creatorId")).at(-1).query;
    assert.deepEqual([last.get("title"), last.get("status"), last.get("creatorId"), last.get("metadata[genre]")], ["oc", "Failed", "ann", "travel"]);
    assert.ok(last.get("createdAfter"));
    await fits(page, "library with filters");

    await page.getByLabel("Title begins with").fill(HTML);
    await page.getByRole("heading", { name: "No media match" }).waitFor();
    await fits(page, "no match");
    await page.getByRole("button", { name: `Remove the filter Title begins with: ${HTML}` }).click();
    await items(page).first().waitFor();
    await page.getByRole("button", { name: "Clear all filters" }).click();
    await page.getByText("3 media", { exact: true }).waitFor();
    assert.ok(await hasFocus(page.getByRole("heading", { level: 1 })), "the button is gone, the focus is on the heading");
  });
});

test("an id in the search opens its media; an unknown id says so", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const [media] = many(1);
    await makeUpLibrary(page, [media]);
    const results = [];
    await page.route(/\/find\?/, (route) => route.fulfill({ json: { success: true, data: { results } } }));
    await openLibrary(page, kinora.address);
    await page.getByLabel("Title begins with").fill("0198c2f0-7f1e-7a51-b1c2-5d0c5f0e7a11");
    await page.getByText("has this id").waitFor();
    results.push({ kind: "track", id: "0198c2f0-7f1e-7a51-b1c2-5d0c5f0e7a12", mediaId: media.id, title: media.title, state: "available" });
    await page.getByLabel("Title begins with").fill("0198c2f0-7f1e-7a51-b1c2-5d0c5f0e7a12");
    await page.waitForURL(`**/media/${media.id}/tracks`);
  });
});

test("new media wait behind a button while one reads below; unfinished ones become ready", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const media = many(100, (number) => (number === 90 ? { status: "Downloading" } : {}));
    await makeUpLibrary(page, media);
    await openLibrary(page, kinora.address);
    const fetching = page.getByRole("list", { name: "Media" }).getByText("Fetching");
    await fetching.waitFor();
    await entryOf(page, "Media 70").scrollIntoViewIfNeeded();
    media.unshift(madeUpMedia(103), madeUpMedia(102), madeUpMedia(101));
    media[13] = { ...media[13], status: "Ready" };
    const button = page.getByRole("button", { name: "3 new", exact: true });
    await button.waitFor();
    assert.equal(await fetching.count(), 0, "the same answer makes the other one ready");
    assert.equal(await entryOf(page, "Media 103").count(), 0);
    await button.click();
    await entryOf(page, "Media 103").waitFor();
    assert.equal(await page.evaluate(() => scrollY), 0);
    assert.equal(await button.count(), 0);
  });
});

test("back returns to the same place with the loaded pages", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await makeUpLibrary(page, many(200));
    await openLibrary(page, kinora.address);
    await page.getByRole("button", { name: "Show 48 more" }).click();
    await entryOf(page, "Media 110").scrollIntoViewIfNeeded();
    const link = entryOf(page, "Media 110").getByRole("link");
    const before = (await link.boundingBox()).y;
    await link.click();
    await page.waitForURL(/\/media\//);
    await page.goBack();
    await link.waitFor();
    const after = (await link.boundingBox()).y;
    assert.ok(Math.abs(after - before) < 4, `${before} px and ${after} px down the window`);
    assert.ok(await hasFocus(link));
  });
});

test("back after a reload of a media returns to the same place, below the first page", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const asked = await makeUpLibrary(page, many(200));
    await openLibrary(page, kinora.address);
    await page.getByRole("button", { name: "Show 48 more" }).click();
    await entryOf(page, "Media 110").scrollIntoViewIfNeeded();
    const link = entryOf(page, "Media 110").getByRole("link");
    const before = (await link.boundingBox()).y;
    await link.click();
    await page.waitForURL(/\/media\//);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Media 110" }).waitFor();
    const { length } = asked;
    await page.goBack();
    await page.waitForFunction(() => document.activeElement?.matches("li[data-id] a"));
    const after = (await link.boundingBox()).y;
    assert.ok(Math.abs(after - before) < 4, `${before} px and ${after} px down the window`);
    assert.ok(await hasFocus(link));
    assert.ok(asked.slice(length).some(({ query }) => query.has("cursor")), "the second page is loaded again");
    const stored = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, history.state]));
    assert.doesNotMatch(stored, /Media|0198/, "numbers only");
  });
});

test("narrow screen: after a reload the same media is as far down the window", async () => {
  await open(
    async (page) => {
      await setUp(kinora, page);
      await makeUpLibrary(page, many(200));
      await openLibrary(page, kinora.address);
      await page.getByRole("button", { name: "Show 48 more" }).click();
      const entry = entryOf(page, "Media 120");
      await entry.scrollIntoViewIfNeeded();
      await page.evaluate(() => document.activeElement.blur());
      await fewFrames(page);
      const before = (await entry.boundingBox()).y;
      await page.reload();
      await entry.waitFor();
      await fewFrames(page);
      const after = (await entry.boundingBox()).y;
      assert.ok(Math.abs(after - before) < 4, `${before} px and ${after} px down the window`);
    },
    { viewport: { width: 360, height: 740 } },
  );
});

test("narrow screen: the selection has all its actions, its ring stays inside, each entry has its age", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await makeUpLibrary(page, many(12));
    await openLibrary(page, kinora.address);
    await select(page, "Media 12");
    await page.setViewportSize({ width: 360, height: 740 });
    const bar = page.getByRole("region", { name: "Selection" });
    const names = ["Add to playlist", "Set metadata", "Source access", "Copy ids", "Delete", "Clear the selection"];
    for (const name of names) {
      const { x, y, width, height } = await bar.getByRole("button", { name, exact: true }).boundingBox();
      assert.ok(x >= 0 && x + width <= 360 && y >= 0 && y + height <= 740, `${name} at ${x}, ${y}`);
    }
    const rings = await page.locator(".picked .image").evaluate((element) => {
      const { outlineOffset, outlineWidth } = getComputedStyle(element);
      return Number.parseFloat(outlineOffset) + Number.parseFloat(outlineWidth);
    });
    assert.ok(rings <= 0, `${rings} px outside of the image`);
    const ages = await page.locator(".media .age").evaluateAll((all) => all.map((age) => age.offsetTop - age.parentElement.offsetTop));
    assert.ok(ages.length === 12 && ages.every((top) => top < 4), `each age is in the first line: ${ages}`);
  });
});

test("head has the stored bytes once they are measured", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await makeUpLibrary(page, many(3));
    let asOf = null;
    await page.route(/\/usage$/, (route) => route.fulfill({ json: { success: true, data: { asOf, totals: { storedBytes: 2_310_000_000_000 } } } }));
    const answer = page.waitForResponse(/\/usage$/);
    await openLibrary(page, kinora.address);
    await answer;
    await page.getByText("3 media", { exact: true }).waitFor();
    asOf = new Date().toISOString();
    await page.reload();
    await page.getByText("3 media, 2.31 TB stored", { exact: true }).waitFor();
    await page.getByLabel("Title begins with").fill("media 3");
    await page.getByText("1 media matches the filters", { exact: true }).waitFor();
  });
});

test("server that is too busy twice: the library says so, and loads by itself", async () => {
  await open(
    async (page) => {
      await setUp(kinora, page);
      await makeUpLibrary(page, many(3));
      await makeBusy(page, /\/on-demand\?/, (number) => number <= 2, { retryAfter: 1 });
      await page.goto(`${kinora.address}/dashboard/`);
      await page.getByText("The server is busy.").waitFor();
      await page.getByText(/^Trying again/).waitFor();
      await page.getByText("Request busy-1").waitFor();
      await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
      await items(page).first().waitFor();
    },
    { mayLoseConnections: true },
  );
});

test("side bar counts unfinished uploads, and says how many have failed", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    let answer;
    const answered = new Promise((done) => (answer = done));
    await page.route(/\/on-demand\/upload$/, async (route) => {
      await answered;
      await route.fulfill({ status: 422, json: { success: false, error: { code: 422, message: "invalid", description: "the title is invalid" } } });
    });
    await hostIsThere(page);
    await dropFiles(page, [{ name: "one.mp4", bytes: Buffer.alloc(1000) }]);
    await confirmSheet(page);
    const entry = page.getByRole("navigation", { name: "Media" }).getByRole("link", { name: /^Uploads/ });
    await entry.getByText("1", { exact: true }).waitFor();
    assert.match(await entry.ariaSnapshot(), /Uploads 1 unfinished/);
    answer();
    await entry.getByText("1 failed", { exact: true }).waitFor();
    assert.match(await entry.ariaSnapshot(), /Uploads 1 failed of 1/);
  });
});
