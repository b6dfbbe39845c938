// What a page of the dashboard requests while it loads: each address once, the first ones early. Needs
// `make web`, the binary (`KINORA_BIN`, or target/debug/kinora) and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { enter, setUp } from "./support/dashboard.mjs";
import { fewFrames, items, makeUpLibrary, many } from "./support/library.mjs";
import { start } from "./support/start.mjs";

const { browser, kinora, open } = await start();

/** The reads of the page at this address until `shown` is there: the path below the API, and who asks. */
async function readsOf(page, address, shown) {
  const reads = [];
  const note = (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith("/dashboard/api/")) reads.push({ path: pathname + search, isEarly: !("kinora-person" in request.headers()) });
  };
  page.on("request", note);
  await page.goto(address);
  await shown.waitFor();
  page.off("request", note);
  return reads.filter(({ path }) => /\/(session|door|on-demand\?.*)$/.test(path));
}

test("library reads its session and its list once, before its scripts run", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const address = page.url();
    const workspace = /\/w\/([^/]+)\/library$/.exec(address)[1];
    const list = `/dashboard/api/workspaces/${workspace}/on-demand?limit=48`;
    const reads = await readsOf(page, address, page.getByRole("heading", { name: "No media yet" }));
    // An empty library reads the door for the command that it shows.
    assert.deepEqual(reads.filter(({ path }) => !path.endsWith("/door")), [
      { path: "/dashboard/api/session", isEarly: true },
      { path: list, isEarly: true },
    ]);
    // The filter is known to the page alone.
    const filtered = await readsOf(page, `${address}?state=Failed`, page.getByRole("heading", { name: "No media match" }));
    assert.deepEqual(filtered, [
      { path: "/dashboard/api/session", isEarly: true },
      { path: `${list}&status=Failed`, isEarly: false },
    ]);
  });
});

test("page without a session asks for no list, and moves to the sign-in", async () => {
  await open(async (page) => {
    const address = `${kinora.publicUrl}/dashboard/w/01a221da-e4df-7d63-9e9f-a6c69b7a1ad8/library`;
    const reads = await readsOf(page, address, page.getByRole("heading", { level: 1, name: /Sign in|Make the first account/ }));
    assert.deepEqual(reads.map(({ path }) => path), ["/dashboard/api/session", "/dashboard/api/door"]);
  });
});

test("100 media: the first page of the list is read, and no other before the end is near", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    const asked = await makeUpLibrary(page, many(100));
    await page.reload();
    await items(page).nth(47).waitFor();
    await fewFrames(page);
    assert.deepEqual(asked.map(({ query }) => query.toString()), ["limit=48"]);
    assert.equal(await items(page).count(), 48);
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await items(page).nth(95).waitFor();
  });
});

test("library is shown without the chunks of uploads", async () => {
  // Outside of `open`: a chunk that is lost is an error on the console.
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await enter(kinora, context);
    await makeUpLibrary(page, many(3));
    await page.route(/\/assets\/(upload-count|host)-[^/]+\.js$/, (route) => route.abort());
    const isLost = (name) => page.waitForEvent("requestfailed", (request) => request.url().includes(`/assets/${name}-`));
    await Promise.all([isLost("upload-count"), isLost("host"), page.goto(`${kinora.publicUrl}/dashboard/`)]);
    await page.getByText("3 media", { exact: true }).waitFor();
    await fewFrames(page);
    assert.equal(await items(page).count(), 3);
    assert.equal(await page.getByRole("heading", { name: "The page cannot be displayed" }).count(), 0);
  } finally {
    await context.close();
  }
});
