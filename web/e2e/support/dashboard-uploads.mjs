// Uploads in the dashboard: the ways of files into the page, and what the page says about them.

import assert from "node:assert/strict";
import { setUp } from "./dashboard.mjs";
import { makeFiles } from "./files.mjs";
import { openLine } from "./line.mjs";
import { start } from "./start.mjs";

export const MB = 1_000_000;
/** Bytes that the page sends in a second, all uploads together, so that there is time to interrupt. */
export const RATE = 3 * MB;

/**
 * Starts what the tests of interrupted uploads share: as `start` does, with the server behind a proxy,
 * `line`, that can disconnect. Its `open` opens a page of a new person, as `(page, context, email)`.
 */
export async function startBehindLine() {
  const line = await openLine();
  const { browser, kinora, files, open } = await start({ files: makeFiles, line: async () => line }, { publicUrl: line.address });
  line.lead(kinora.port);
  const openPage = async (page, context, use, hasHandles) => {
    if (!hasHandles) await withoutHandles(context);
    page.on("dialog", (dialog) => dialog.accept()); // leaving asks while bytes are sent
    const email = await setUp(kinora, page);
    try {
      await use(page, context, email);
    } finally {
      line.mend();
    }
  };
  return {
    browser,
    kinora,
    line,
    files,
    // An interrupted request is an error on the console.
    open: (use, { hasHandles = false } = {}) => open((page, context) => openPage(page, context, use, hasHandles), { mayLoseConnections: true }),
    /** So many clips of this size with different bytes. */
    clipsOf: (name, count, size) => Promise.all(Array.from({ length: count }, (_, index) => files.clip(`${name}-${index + 1}.mp4`, size))),
    /** Waits until all of these clips are stored and their rows say "Ready". */
    async areReady(page, clips) {
      for (const { name } of clips) await rowOf(page, name).getByText("Ready", { exact: true }).waitFor();
      const sources = await kinora.sources();
      for (const { name, digest } of clips) assert.ok(sources.includes(digest), `${name} is stored as it was sent`);
    },
  };
}

export const tray = (page) => page.getByRole("region", { name: "Uploads in progress" });
export const sheet = (page) => page.getByRole("dialog", { name: /^Upload \d+ files?$/ });
/** The row of an upload on the page of uploads. */
export const rowOf = (page, title) => page.getByRole("listitem").filter({ hasText: title });

/** Removes the picker with handles, which only a person can operate: the page uses a field for files. */
export const withoutHandles = (context) => context.addInitScript(() => (window.showOpenFilePicker = undefined));

/** Chooses files in the picker that `open` opens. */
export async function chooseFiles(page, open, paths) {
  const chooser = page.waitForEvent("filechooser");
  await page.evaluate(() => {}); // the browser knows by now that no dialog may open
  await open();
  await (await chooser).setFiles(paths);
}

/** Drops files, as `{ name, bytes }`, somewhere in the window. */
export async function dropFiles(page, files) {
  const sources = files.map(({ name, bytes }) => ({ name, text: Buffer.from(bytes).toString("base64") }));
  const transfer = await page.evaluateHandle((sources) => {
    const data = new DataTransfer();
    for (const { name, text } of sources) {
      const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
      data.items.add(new File([bytes], name, { type: "video/mp4" }));
    }
    return data;
  }, sources);
  await page.dispatchEvent("main h1", "dragenter", { dataTransfer: transfer });
  await page.dispatchEvent("main h1", "drop", { dataTransfer: transfer });
}

/** Confirms the sheet with the settings as they are. */
export async function confirmSheet(page) {
  const dialog = sheet(page);
  await dialog.waitFor();
  await dialog.getByRole("button", { name: /^Upload \d+ files?$/ }).click();
  await dialog.waitFor({ state: "detached" });
}

/** Chooses files by the key `u` and uploads them with the settings as they are. */
export async function uploadFiles(page, paths) {
  await hostIsThere(page);
  await page.getByRole("heading", { level: 1 }).click();
  await chooseFiles(page, () => page.keyboard.press("u"), paths);
  await confirmSheet(page);
}

/** Opens the page of uploads by the side bar. */
export async function openUploads(page) {
  await page.getByRole("navigation", { name: "Media" }).getByRole("link", { name: "Uploads" }).click();
  await page.getByRole("heading", { level: 1, name: "Uploads" }).waitFor();
}

/** The part of the frame that takes files loads after the page. */
export const hostIsThere = (page) => page.locator("[data-uploads]").waitFor({ state: "attached" });

/**
 * Limits the bytes that the page sends in a second; `null` ends it. Closing the page ends it too, a moment
 * before the requests of the page end: they may send megabytes in between. `line.hold` stops one for certain.
 */
export async function limitRate(page, bytesPerSecond) {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const uploadThroughput = bytesPerSecond ?? -1;
  await session.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput });
}

/** Waits until a bar of this name shows at least this many percent, and returns the number. */
export async function waitForPercent(page, name, percent) {
  const bar = page.getByRole("progressbar", { name });
  await bar.first().waitFor();
  await page.waitForFunction(
    ([name, percent]) => [...document.querySelectorAll('[role="progressbar"]')].some((bar) => bar.ariaLabel === name && Number(bar.ariaValueNow) >= percent),
    [name, percent],
  );
  return Number(await bar.first().getAttribute("aria-valuenow"));
}

/** Records the requests of the upload protocol that send bytes: their upload, offset and page. */
export function recordSends(context) {
  const sends = [];
  context.on("request", (request) => {
    if (request.method() !== "PATCH" || !new URL(request.url()).pathname.startsWith("/upload/")) return;
    sends.push({ url: request.url(), offset: Number(request.headers()["upload-offset"]), page: request.frame().page() });
  });
  return sends;
}

/** Asserts that no upload goes back: each request begins at or after the one before. */
export function assertGoesOn(sends) {
  for (const url of new Set(sends.map((send) => send.url))) {
    const offsets = sends.filter((send) => send.url === url).map(({ offset }) => offset);
    assert.deepEqual(offsets, [...offsets].sort((one, other) => one - other), "the offset never goes back");
  }
}
