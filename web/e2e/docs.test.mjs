// The API page on a real server. Needs `make web`, the binary (`KINORA_BIN`, or target/debug/kinora) and
// Chromium.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { startBrowser } from "./support/browser.mjs";
import { startKinora } from "./support/kinora.mjs";
import { observe } from "./support/observe.mjs";

let kinora;
let browser;

before(async () => {
  kinora = await startKinora();
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await kinora?.stop();
});

/** Opens the page in a window of this size, and passes it on once the document is rendered. */
async function open(use, { size = { width: 1280, height: 800 }, anchor = "" } = {}) {
  const context = await browser.newContext({ viewport: size });
  try {
    const page = await context.newPage();
    const seen = await observe(page);
    await page.goto(`${kinora.address}/docs${anchor}`);
    await page.getByRole("heading", { name: "Get started" }).waitFor();
    await use(page, seen);
    assert.deepEqual(seen.console, [], "an error on the console, or a breach of the policy");
    const elsewhere = seen.requests.filter((address) => !address.startsWith(`${kinora.address}/`) && !address.startsWith("data:"));
    assert.deepEqual(elsewhere, [], "a request left the server");
  } finally {
    await context.close();
  }
}

async function documentOf() {
  return (await fetch(`${kinora.address}/openapi.json`)).json();
}

test("search finds an operation, and its example request works", async () => {
  await open(async (page) => {
    await page.getByLabel("Find an operation").fill("signing delete");
    await page.getByRole("status").filter({ hasText: "1 operation" }).waitFor();
    const links = page.getByRole("navigation").getByRole("link");
    assert.deepEqual(await links.allInnerTexts().then((texts) => texts.map((text) => text.replace(/\s+/g, " "))), ["DELETE Delete a signing key"]);

    await page.getByLabel("Find an operation").fill("create a media");
    await links.first().click();
    assert.equal(new URL(page.url()).hash, "#createMedia");
    const article = page.getByRole("article", { name: "Create a media from a URL" });
    const example = await article.getByLabel("Request: least").innerText();
    const [, address, body] = /'(http[^']+)'[^]*-d '([^']+)'/.exec(example);
    assert.equal(address, `${kinora.address}/v1/on-demand`);
    const media = await kinora.ask(new URL(address).pathname, { method: "POST", body });
    assert.equal(media.status, "Created");
  });
});

test("page lists every operation with an example", async () => {
  const { paths } = await documentOf();
  const names = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  await open(async (page) => {
    const shown = await page.locator("article").evaluateAll((articles) => articles.map(({ id }) => id));
    assert.deepEqual(shown.sort(), names.sort());
    const without = await page.locator("article:not(:has(pre))").count();
    assert.equal(without, 0, "an operation without an example");
    const linked = await page.getByRole("navigation").getByRole("link").count();
    assert.equal(linked, names.length);
  });
});

test("URL fragment scrolls to the operation", async () => {
  await open(
    async (page) => {
      const article = page.locator("#deletePlaybackId");
      await page.waitForFunction(() => {
        const { top } = document.getElementById("deletePlaybackId").getBoundingClientRect();
        return top >= 0 && top < innerHeight;
      });
      await article.getByRole("heading", { name: "Delete a playback ID" }).waitFor();
    },
    { anchor: "#deletePlaybackId" },
  );
});

test("keyboard reaches everything and can skip the index", async () => {
  await open(async (page) => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the operations");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "operations");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "PRE", "what scrolls can be scrolled with keys");

    await page.getByLabel("Find an operation").focus();
    await page.keyboard.type("incomplete uploads");
    await page.getByRole("status").filter({ hasText: "1 operation" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(new URL(page.url()).hash, "#listUploads");
    const refusal = page.locator("#listUploads summary").filter({ hasText: "401" });
    await refusal.focus();
    await page.keyboard.press("Enter");
    await page.locator("#listUploads").getByLabel("Response 401").waitFor();
  });
});

test("narrow screen needs no horizontal scrolling", async () => {
  await open(
    async (page) => {
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 320, `the page is ${width} pixels wide`);
      await page.getByRole("article", { name: "Create a direct upload", exact: true }).getByLabel("Request: more").waitFor();
    },
    { size: { width: 320, height: 640 } },
  );
});

test("accessibility tree of an operation matches the golden file", async () => {
  await open(async (page) => {
    const tree = await page.locator("#deletePlaybackId").ariaSnapshot();
    const expected = await readFile(new URL("golden/docs.aria.yml", import.meta.url), "utf8");
    assert.equal(tree.replaceAll(kinora.address, "SERVER").trim(), expected.trim());
  });
});

test("failed load of the API document is reported", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route("**/openapi.json", (route) => route.abort());
  await page.goto(`${kinora.address}/docs`);
  await page.getByText("The API document cannot be loaded").waitFor();
  await context.close();
});
