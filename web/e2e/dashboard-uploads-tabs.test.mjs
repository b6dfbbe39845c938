// Uploads of the dashboard in several tabs, and when a session ends. Needs
// `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PLAIN_HOST } from "./support/browser.mjs";
import { setUp, signIn, withPage } from "./support/dashboard.mjs";
import {
  assertGoesOn, hostIsThere, limitRate, MB, openUploads, RATE, recordSends, rowOf, startBehindLine, tray, uploadFiles, waitForPercent,
} from "./support/dashboard-uploads.mjs";
import { startKinora } from "./support/kinora.mjs";
import { openLine } from "./support/line.mjs";

const { browser, kinora, line, files, open, areReady, clipsOf } = await startBehindLine();

test("two tabs: one sends, the other shows it; when it closes, the other sends the rest", async () => {
  await open(async (first, context) => {
    const clips = await clipsOf("tabs", 2, 8 * MB);
    const sends = recordSends(context);
    const second = await context.newPage();
    await second.goto(line.address);
    await second.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    const sentBefore = line.bytes();
    const held = line.hold(3 * MB); // or it may be sent to its end while the tab closes
    await uploadFiles(first, [clips[0].path]);
    await held;
    await limitRate(first, MB / 2);
    await uploadFiles(second, [clips[1].path]);
    await waitForPercent(second, "tabs-2", 25);
    await tray(second).getByText("Another tab of this browser sends.").waitFor();
    assert.deepEqual([...new Set(sends.map((send) => send.page === first))], [true], "the first tab sends both");
    await first.close({ runBeforeUnload: false });
    await openUploads(second);
    await areReady(second, clips);
    assertGoesOn(sends);
    const resumed = sends.filter((send) => send.page === second);
    assert.ok(resumed.some(({ offset }) => offset > 0), "the second tab has sent the rest");
    const sent = line.bytes() - sentBefore;
    assert.ok(sent < 3 * 8 * MB, `${sent} bytes of 16 MB: at most one request is sent twice`);
    line.cut(); // the held connection, which the server would wait for at its stop
  });
});

test("a tab that does not send pauses and resumes; the other goes on when it is closed", async () => {
  await open(async (first, context) => {
    const [clip] = await clipsOf("paused", 1, 8 * MB);
    const sends = recordSends(context);
    await limitRate(first, RATE);
    await uploadFiles(first, [clip.path]);
    const second = await context.newPage();
    await second.goto(line.address);
    await waitForPercent(second, "paused-1", 10);
    await tray(second).getByText("Another tab of this browser sends.").waitFor();
    await tray(second).getByRole("button", { name: "Pause all" }).click();
    await tray(first).getByText("1 upload paused").waitFor();
    await tray(second).getByText("1 upload paused").waitFor();
    const begun = sends.length;
    await tray(second).getByRole("button", { name: "Resume all" }).click();
    await waitForPercent(second, "paused-1", 50);
    await second.close({ runBeforeUnload: false });
    await openUploads(first);
    await areReady(first, [clip]);
    assertGoesOn(sends);
    assert.equal(sends.length, begun + 1, "the rest is one request");
    assert.deepEqual([...new Set(sends.map((send) => send.page === first))], [true]);
  });
});

test("two tabs over plain HTTP, without Web Locks: the other one sends the rest", async () => {
  const plainLine = await openLine();
  const publicUrl = plainLine.address.replace("127.0.0.1", PLAIN_HOST);
  const plain = await startKinora({ publicUrl });
  plainLine.lead(plain.port);
  try {
    await withPage(browser, publicUrl, async (first, context) => {
      const [clip] = await clipsOf("plain", 1, 8 * MB);
      const sends = recordSends(context);
      await setUp(plain, first);
      const second = await context.newPage();
      await second.goto(publicUrl);
      await second.getByRole("heading", { level: 1, name: "Library" }).waitFor();
      assert.equal(await second.evaluate(() => "locks" in navigator), false);
      const sentBefore = plainLine.bytes();
      const held = plainLine.hold(3 * MB); // as above
      await uploadFiles(second, [clip.path]);
      await held;
      await waitForPercent(second, "plain-1", 25);
      await tray(second).getByText("Another tab of this browser sends.").waitFor();
      await first.close({ runBeforeUnload: false });
      await openUploads(second);
      await rowOf(second, "plain-1").getByText("Ready", { exact: true }).waitFor();
      assert.ok((await plain.sources()).includes(clip.digest), "it is stored as it was sent");
      assertGoesOn(sends);
      assert.deepEqual(sends.map((send) => send.page === first), [true, false], "one request of each tab");
      assert.ok(sends[1].offset > 0, "it did not begin again");
      const sent = plainLine.bytes() - sentBefore; // with the other requests of both pages
      assert.ok(sent < 8 * MB + MB / 4, `${sent} bytes of 8 MB: none is sent twice`);
    }, { mayLoseConnections: true });
  } finally {
    await plainLine.close(); // first: the server waits for connections before it stops
    await plain.stop();
  }
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
    await setUp(kinora, page, { name: "Another Person" });
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
