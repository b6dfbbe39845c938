// Uploads of the dashboard in several tabs, and when a session ends. Needs
// `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startBrowser } from "./support/browser.mjs";
import { setUp, signIn, withPage } from "./support/dashboard.mjs";
import {
  assertGoesOn, chooseFiles, confirmSheet, hostIsThere, limitRate, openUploads, recordSends, rowOf, tray, uploadFiles, waitForPercent, withoutHandles,
} from "./support/dashboard-uploads.mjs";
import { makeFiles } from "./support/files.mjs";
import { startKinora } from "./support/kinora.mjs";
import { openLine } from "./support/line.mjs";

const MB = 1_000_000;
/** Bytes that the page sends in a second, all uploads together, so that there is time to interrupt. */
const RATE = 3 * MB;

let files;
let line;
let kinora;
let browser;

before(async () => {
  files = await makeFiles();
  line = await openLine();
  kinora = await startKinora({ publicUrl: line.address });
  line.lead(kinora.port);
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await line?.close();
  await kinora?.stop();
  await files?.remove();
});

/** Opens a page of its own with a new person. An interrupted request is an error on the console. */
const open = (use) =>
  withPage(browser, line.address, async (page, context) => {
    await withoutHandles(context);
    page.on("dialog", (dialog) => dialog.accept()); // leaving asks while bytes are sent
    const email = await setUp({ ...kinora, address: line.address }, page);
    try {
      await use(page, context, email);
    } finally {
      line.mend();
    }
  }, { mayLoseConnections: true });

/** Waits until all of these clips are stored and their rows say "Ready". */
async function areReady(page, clips) {
  for (const { name } of clips) await rowOf(page, name).getByText("Ready", { exact: true }).waitFor();
  const sources = await kinora.sources();
  for (const { name, digest } of clips) assert.ok(sources.includes(digest), `${name} is stored as it was sent`);
}

const clipsOf = (name, count, size) => Promise.all(Array.from({ length: count }, (_, index) => files.clip(`${name}-${index + 1}.mp4`, size)));

test("two tabs: one sends, the other shows it; when it closes, the other sends the rest", async () => {
  await open(async (first, context) => {
    const clips = await clipsOf("tabs", 2, 8 * MB);
    const sends = recordSends(context);
    await limitRate(first, RATE);
    const second = await context.newPage();
    await second.goto(line.address);
    await second.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    await limitRate(second, RATE);
    await uploadFiles(first, [clips[0].path]);
    await uploadFiles(second, [clips[1].path]);
    await waitForPercent(second, "tabs-2", 25);
    await tray(second).getByText("Another tab of this browser sends.").waitFor();
    assert.deepEqual([...new Set(sends.map((send) => send.page === first))], [true], "the first tab sends both");
    await first.close({ runBeforeUnload: false });
    await openUploads(second);
    await areReady(second, clips);
    assertGoesOn(sends);
    assert.ok(sends.some((send) => send.page === second && send.offset > 0), "the second tab has sent the rest");
  });
});

test("the session ends: what is begun is sent to its end", async () => {
  await open(async (page, context, email) => {
    const [clip] = await clipsOf("session", 1, 8 * MB);
    await limitRate(page, RATE);
    await uploadFiles(page, [clip.path]);
    await waitForPercent(page, "session-1", 20);
    await context.clearCookies();
    await waitForPercent(page, "session-1", 90);
    await tray(page).getByText("Preparing").waitFor();
    assert.ok(await waitFor(async () => (await kinora.sources()).includes(clip.digest)));
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor(); // the library is read again
    await signIn(page.getByRole("dialog"), email);
    await tray(page).getByText("1 file uploaded").waitFor();
  });
});

test("another person in the same browser sees nothing of the queue", async () => {
  await open(async (page, context) => {
    const [clip] = await clipsOf("private", 1, 8 * MB);
    await limitRate(page, RATE);
    await uploadFiles(page, [clip.path]);
    await waitForPercent(page, "private-1", 10);
    await tray(page).getByRole("button", { name: "Pause all" }).click();
    await tray(page).getByText("1 upload paused").waitFor();
    await context.clearCookies();
    await setUp({ ...kinora, address: line.address }, page, { name: "Another Person" });
    await hostIsThere(page);
    await openUploads(page);
    await page.getByRole("heading", { name: "Drop video or audio files here" }).waitFor();
    assert.equal(await page.getByText("private-1.mp4").count(), 0);
    await rowOf(page, "private-1").getByText(/arrived/).waitFor(); // the workspace's list has it
  });
});

test("signing out with unfinished uploads asks first, and forgets them", async () => {
  await open(async (page, _context, email) => {
    const [clip] = await clipsOf("signed-out", 1, 8 * MB);
    await limitRate(page, RATE);
    await uploadFiles(page, [clip.path]);
    await waitForPercent(page, "signed-out-1", 10);
    const signOut = async () => {
      await page.getByRole("button", { name: /^Your menu/ }).click();
      await page.getByRole("button", { name: "Sign out" }).click();
    };
    await signOut();
    const dialog = page.getByRole("dialog", { name: "Sign out and forget the uploads?" });
    await dialog.getByText("1 upload is unfinished").waitFor();
    await dialog.getByRole("button", { name: "Stay signed in" }).click();
    const percent = await waitForPercent(page, "signed-out-1", 30);
    assert.ok(percent < 100, "it goes on");
    await signOut();
    await dialog.getByRole("button", { name: "Sign out" }).click();
    await signIn(page, email);
    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    await hostIsThere(page);
    await openUploads(page);
    await page.getByRole("heading", { name: "Drop video or audio files here" }).waitFor();
    await rowOf(page, "signed-out-1").getByText(/arrived/).waitFor();
    await rowOf(page, "signed-out-1").getByRole("button", { name: "Cancel: signed-out-1" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel the upload" }).click();
    await rowOf(page, "signed-out-1").waitFor({ state: "detached" });
  });
});

/** Polls a condition outside of the page. */
async function waitFor(isMet) {
  for (const until = Date.now() + 30_000; Date.now() < until; ) if (await isMet()) return true;
  return false;
}
