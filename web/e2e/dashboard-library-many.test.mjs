// The library of a workspace with 10,000 media in its database. Needs `make web`, the binary (`KINORA_BIN`,
// or target/debug/kinora), Python and Chromium.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { setUp } from "./support/dashboard.mjs";
import { hasFocus } from "./support/fit.mjs";
import { entryOf, openLibrary } from "./support/library.mjs";
import { start } from "./support/start.mjs";

const COUNT = 10_000;
/** How many of them the page has loaded when it is measured. */
const LOADED = 960;
const SEED = fileURLToPath(new URL("../../bench/seed_database.py", import.meta.url));
/** Nodes of the document for each media that it shows, and of all the rest. */
const NODES_OF_ENTRY_MAX = 40;
const NODES_OF_PAGE_MAX = 5_000;
/** Bytes of the heap of JavaScript for each media that is shown, and of all the rest. */
const HEAP_OF_ENTRY_MAX = 24_000;
const HEAP_OF_PAGE_MAX = 40_000_000;

const { kinora, open } = await start();

before(() => promisify(execFile)("python3", [SEED, join(kinora.data, "kinora.db"), String(COUNT)]));

/** The number of entries that the library shows. */
const shown = (page) => page.evaluate(() => document.querySelectorAll("li[data-id]").length);

/** Nodes and bytes of the page after a garbage collection. */
async function measure(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { nodes } = await session.send("Memory.getDOMCounters");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return { nodes, heap: usedSize };
}

/** Scrolls until so many entries are loaded. */
async function scrollTo(page, count) {
  for (let loaded = await shown(page); loaded < count; loaded = await shown(page)) {
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForFunction((before) => document.querySelectorAll("li[data-id]").length > before, loaded);
  }
}

test("10,000 media: twenty pages in bounded memory, and back to the same place", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openLibrary(page, kinora.address);
    await page.getByText("10,000 media", { exact: true }).waitFor();
    await scrollTo(page, LOADED);
    const loaded = await shown(page);
    assert.equal(await page.evaluate(() => new Set([...document.querySelectorAll("li[data-id]")].map(({ dataset }) => dataset.id)).size), loaded, "each once");
    const { nodes, heap } = await measure(page);
    assert.ok(nodes < loaded * NODES_OF_ENTRY_MAX + NODES_OF_PAGE_MAX, `${nodes} nodes`);
    assert.ok(heap < loaded * HEAP_OF_ENTRY_MAX + HEAP_OF_PAGE_MAX, `${heap} bytes`);

    const link = entryOf(page, "Clip 9100").getByRole("link");
    await link.click();
    await page.getByRole("heading", { level: 1, name: "Clip 9100", exact: true }).waitFor();
    await page.goBack();
    await link.waitFor();
    assert.ok((await shown(page)) >= loaded, "the loaded pages are still there");
    assert.ok(await hasFocus(link));
  });
});

test("10,000 media: filters narrow the list, an entry opens, and Back keeps them", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openLibrary(page, kinora.address);
    await page.getByLabel("Title begins with").fill("clip 99");
    await page.getByText("111 media match the filters").waitFor();
    await scrollTo(page, 111);
    await entryOf(page, "Clip 99").getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "Clip 99", exact: true }).waitFor();
    const { nodes } = await measure(page);
    assert.ok(nodes < NODES_OF_PAGE_MAX, `${nodes} nodes of a page of one media`);
    await page.goBack();
    await page.waitForURL(/\?title=clip\+99$/);
    await entryOf(page, "Clip 99").waitFor();
    assert.equal(await shown(page), 111);
    await page.getByRole("button", { name: "Clear all filters" }).click();
    await page.getByText("10,000 media", { exact: true }).waitFor();
    assert.ok((await shown(page)) < 200, "the list begins again");
  });
});
