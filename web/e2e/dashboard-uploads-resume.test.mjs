// Uploads of the dashboard that are interrupted: reload, wrong file, server away. Behind a proxy that can
// disconnect. Needs `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  assertGoesOn, chooseFiles, confirmSheet, hostIsThere, limitRate, MB, openUploads, RATE, recordSends, rowOf, startBehindLine, tray, uploadFiles,
  waitForPercent,
} from "./support/dashboard-uploads.mjs";
import { fits } from "./support/fit.mjs";

const { kinora, line, files, open, areReady, clipsOf } = await startBehindLine();

test("three files, reload at 40 %, the same files again: only the rest is sent", async () => {
  await open(async (page, context) => {
    const clips = await clipsOf("reload", 3, 6 * MB);
    const sends = recordSends(context);
    await limitRate(page, RATE);
    await uploadFiles(page, clips.map(({ path }) => path));
    await waitForPercent(page, "reload-2", 40);
    await openUploads(page);
    const begun = sends.length;
    const sentBefore = line.bytes();
    await page.reload();
    await page.getByRole("heading", { name: "3 uploads wait for their files" }).waitFor();
    assert.ok((await waitForPercent(page, "reload-2", 1)) < 100, "the row shows the stored bytes");
    assert.equal(await page.getByRole("button", { name: /^Pause/ }).count(), 0, "nothing can be paused without its file");
    await fits(page, "uploads that wait for their files");
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage }));
    assert.ok(!stored.includes("/upload/"), "the signed URLs are secrets");
    await chooseFiles(page, () => page.getByRole("button", { name: "Choose these 3 files again" }).click(), clips.map(({ path }) => path));
    await areReady(page, clips);
    const resumed = sends.slice(begun);
    assert.equal(resumed.length, 3, "one request for the rest of each");
    for (const { offset } of resumed) assert.ok(offset > 0, "none begins at 0");
    assertGoesOn(sends);
    const left = resumed.reduce((sum, { offset }) => sum + 6 * MB - offset, 0);
    const sentAfter = line.bytes() - sentBefore;
    assert.ok(sentAfter < left + MB, `${sentAfter} bytes for ${left} that were left`);
  });
});

test("files with handles resume by one click after a reload", async () => {
  await open(
    async (page, context) => {
      const clips = await clipsOf("handle", 2, 6 * MB);
      await useStoredFiles(context, page, clips);
      const sends = recordSends(context);
      await limitRate(page, RATE);
      await hostIsThere(page);
      await page.getByRole("button", { name: "Upload", exact: true }).click();
      await confirmSheet(page);
      await waitForPercent(page, "handle-1", 40);
      await openUploads(page);
      await page.reload();
      await page.getByRole("heading", { name: "2 uploads wait for their files" }).waitFor();
      await page.getByRole("button", { name: "Resume 2 uploads" }).click();
      await areReady(page, clips);
      assertGoesOn(sends);
      assert.ok(sends.at(-1).offset > 0);
    },
    { hasHandles: true },
  );
});

test("a wrong file is refused with the reason", async () => {
  await open(async (page, context) => {
    const [clip] = await clipsOf("wrong", 1, 6 * MB);
    const sends = recordSends(context);
    await limitRate(page, RATE);
    await uploadFiles(page, [clip.path]);
    await waitForPercent(page, "wrong-1", 30);
    await openUploads(page);
    await page.reload();
    const again = page.getByRole("button", { name: "Choose this file again" });
    const refusals = page.getByRole("region", { name: "1 upload waits for its file" }).getByRole("alert");
    const begun = sends.length;
    const other = await files.clip("another.mp4", 6 * MB);
    await chooseFiles(page, () => again.click(), [other.path]);
    await refusals.getByText("No unfinished upload here has a file named “another.mp4”").waitFor();
    const longer = await files.clip("wrong-1.mp4", 7 * MB);
    await chooseFiles(page, () => again.click(), [longer.path]);
    await refusals.getByText("another size than the file of the upload, which has 6 MB").waitFor();
    const changed = await files.clip("wrong-1.mp4", 6 * MB);
    await chooseFiles(page, () => again.click(), [changed.path]);
    await refusals.getByText("the right name and size, but other content").waitFor();
    assert.equal(sends.length, begun, "nothing of them was sent");
    await files.of("wrong-1.mp4", clip.bytes);
    await chooseFiles(page, () => again.click(), [clip.path]);
    await areReady(page, [clip]);
    assertGoesOn(sends);
  });
});

test("server killed and started again: uploads resume by themselves", async () => {
  await open(async (page, context) => {
    const clips = await clipsOf("killed", 2, 8 * MB);
    const sends = recordSends(context);
    await limitRate(page, RATE);
    await uploadFiles(page, clips.map(({ path }) => path));
    await waitForPercent(page, "killed-1", 40);
    await kinora.kill();
    await tray(page).getByText("The server cannot be reached").first().waitFor();
    await openUploads(page);
    await rowOf(page, "killed-1").getByText("Waiting for the server").waitFor();
    await kinora.start();
    await areReady(page, clips);
    assertGoesOn(sends);
    assert.ok(sends.at(-1).offset > 0, "it did not begin anew");
  });
});

test("lost network: waits, and goes on at once when the browser is online", async () => {
  await open(async (page, context) => {
    const [clip] = await clipsOf("offline", 1, 8 * MB);
    await limitRate(page, RATE);
    await uploadFiles(page, [clip.path]);
    await waitForPercent(page, "offline-1", 20);
    await openUploads(page);
    line.cut();
    await rowOf(page, "offline-1").getByText("Waiting for the server").waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
    line.mend();
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await areReady(page, [clip]);
  });
});

/**
 * Replaces the picker by one that returns handles of these files in the storage of the page. Like those of a
 * disk they want a permission after each load.
 */
async function useStoredFiles(context, page, clips) {
  await context.addInitScript(() => {
    let isPermitted = false;
    FileSystemFileHandle.prototype.queryPermission = async () => (isPermitted ? "granted" : "prompt");
    FileSystemFileHandle.prototype.requestPermission = async () => {
      isPermitted = navigator.userActivation.isActive;
      return isPermitted ? "granted" : "denied";
    };
    window.showOpenFilePicker = async () => {
      isPermitted = true;
      const folder = await navigator.storage.getDirectory();
      const handles = [];
      for await (const handle of folder.values()) handles.push(handle);
      return handles;
    };
  });
  await page.reload();
  for (const { name, bytes } of clips) {
    await page.evaluate(
      async ([name, text]) => {
        const folder = await navigator.storage.getDirectory();
        const writable = await (await folder.getFileHandle(name, { create: true })).createWritable();
        await writable.write(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
        await writable.close();
      },
      [name, bytes.toString("base64")],
    );
  }
}
