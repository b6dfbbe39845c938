// The library of the dashboard: keyboard, widths, light and dark, axe, titles of all kinds, many media. Needs
// `make web`, the binary (`KINORA_BIN`, or target/debug/kinora) and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setUp } from "./support/dashboard.mjs";
import { fits, hasFocus, tabTo } from "./support/fit.mjs";
import { assertSelected, entryOf, items, madeUpMedia, makeUpLibrary, many, openLibrary } from "./support/library.mjs";
import { start } from "./support/start.mjs";

const HTML = '<img src=x onerror="alert(1)"><b>bold</b>';
const RIGHT_TO_LEFT = "\u202Egnp.exe مرحبا بالعالم";
const EMOJI = "🎬".repeat(127);

const { kinora, open } = await start();

test("titles are text: HTML, right to left, emoji; grid and list fit, and axe finds nothing", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const failed = { status: "Failed", error: { code: "source_forbidden_address", message: "private" } };
    await makeUpLibrary(page, [
      madeUpMedia(9, { title: HTML }),
      madeUpMedia(8, { title: RIGHT_TO_LEFT, status: "Downloading", duration: "00:00:00" }),
      madeUpMedia(7, { title: EMOJI, ...failed }),
      madeUpMedia(6, { title: null, isAudioOnly: true, sourceResolution: null }),
      madeUpMedia(5, { title: "x".repeat(255), playbackIds: [{ id: "1", accessPolicy: "private", accessRestrictions: {} }] }),
      madeUpMedia(4, { playbackReport: { renditions: [], source: "truncated" }, blurHash: "LEHV6nWB2yk8pyo0adR*.7kCMdnj" }),
    ]);
    await openLibrary(page, kinora.address);
    await page.getByRole("heading", { name: HTML }).waitFor();
    await page.getByText("forbidden address").waitFor();
    await page.getByText("Cut off").waitFor();
    await fits(page, "grid");
    const stored = page.waitForResponse((response) => response.request().method() === "PATCH" && response.ok());
    await page.getByRole("button", { name: "List", exact: true }).click();
    await stored;
    const places = await page.locator(".image.failed").evaluate((image) => [image, image.querySelector("svg")].map((one) => one.getBoundingClientRect()).map(({ y, height }) => y + height / 2));
    assert.ok(Math.abs(places[0] - places[1]) < 1, "the icon of a failed media is in the middle");
    await page.getByRole("checkbox", { name: "Select: Media 4" }).click();
    await assertSelected(page, 1);
    await fits(page, "list with a selection");
    await page.reload();
    await page.locator(".media-list").waitFor();
  });
});

test("2,000 media load one page after another, and select and scroll", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const asked = await makeUpLibrary(page, many(2000));
    await openLibrary(page, kinora.address);
    const count = () => page.getByRole("list", { name: "Media" }).locator("> li").count();
    for (let shown = await count(); shown < 2000; shown = await count()) {
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      await page.waitForFunction((before) => document.querySelectorAll("li[data-id]").length > before, shown);
    }
    assert.ok(asked.filter(({ query }) => query.get("limit") === "48").length >= 42);
    await page.getByRole("checkbox", { name: "Select: Media 1", exact: true }).click();
    await page.evaluate(() => scrollTo(0, 0));
    await page.getByRole("checkbox", { name: "Select: Media 2000", exact: true }).click({ modifiers: ["Shift"] });
    await assertSelected(page, 2000);
    await page.getByRole("button", { name: "Clear the selection" }).click();
    await page.getByRole("region", { name: "Selection" }).waitFor({ state: "detached" });
  });
});

test("keyboard alone: arrows, x, Shift, Escape, finder", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await makeUpLibrary(page, many(8));
    await page.route(/\/find\?/, (route) => route.fulfill({ json: { success: true, data: { results: [{ kind: "media", id: madeUpMedia(5).id, mediaId: madeUpMedia(5).id, title: "Media 5", state: "Ready" }] } } }));
    await openLibrary(page, kinora.address);
    const link = (number) => entryOf(page, `Media ${number}`).getByRole("link");
    await tabTo(page, link(8));
    await page.keyboard.press("ArrowRight");
    assert.ok(await hasFocus(link(7)));
    await page.keyboard.press("x");
    await assertSelected(page, 1);
    await page.keyboard.press("Shift+ArrowDown");
    assert.ok(await hasFocus(link(3)), "one line further down");
    await assertSelected(page, 5);
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "Selection" }).waitFor({ state: "detached" });
    await page.keyboard.press("/");
    assert.ok(await hasFocus(page.getByLabel("Title begins with")));

    await page.keyboard.press("Control+k");
    const finder = page.getByRole("dialog", { name: "Find anything" });
    await finder.getByRole("option", { name: "Access Tokens" }).waitFor();
    await fits(page, "finder");
    await page.keyboard.type("media 5");
    await finder.getByRole("option", { name: /^Media 5/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/media/${madeUpMedia(5).id}`);
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
  });
});

test("Enter in the finder waits for the results of what is typed", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await makeUpLibrary(page, many(8));
    let release;
    const held = new Promise((next) => (release = next));
    await page.route(/\/find\?/, async (route) => {
      const q = new URL(route.request().url()).searchParams.get("q");
      const { id, title } = madeUpMedia(q === "media 5" ? 5 : 6);
      if (q === "media 6") await held;
      await route.fulfill({ json: { success: true, data: { results: [{ kind: "media", id, mediaId: id, title, state: "Ready" }] } } });
    });
    await openLibrary(page, kinora.address);
    await page.keyboard.press("Control+k");
    const finder = page.getByRole("combobox", { name: "Find anything" });
    await finder.fill("media 5");
    await page.getByRole("option", { name: /^Media 5/ }).waitFor();
    await finder.fill("media 6");
    await page.keyboard.press("Enter");
    release();
    await page.waitForURL(`**/media/${madeUpMedia(6).id}`);
    await page.keyboard.press("Control+k");
    await finder.fill("0198c2f0-7f1e-7a51-b1c2-5d0c5f0e7a11");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.waitForURL(`**/media/${madeUpMedia(6).id}`);
  });
});

test("a list that cannot be loaded says why, and loads again", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await makeUpLibrary(page, many(60));
    let isBroken = true;
    const answer = { status: 409, headers: { "x-request-id": "abc-123" }, json: { success: false, error: { code: 409, message: "locked", description: "the workspace is locked" } } };
    const onDemand = /\/on-demand\?/;
    await page.route(onDemand, (route) => (isBroken ? route.fulfill(answer) : route.fallback()));
    await page.goto(`${kinora.address}/dashboard/`);
    await page.getByText("The workspace is locked.").waitFor();
    await page.getByText("Request abc-123").waitFor();
    await fits(page, "library that cannot be loaded");
    isBroken = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await items(page).first().waitFor();
  });
});
