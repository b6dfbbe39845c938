// Playback IDs, rules, tracks, renditions and events of a media in the dashboard of a real server. Needs
// `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { HANG_MS } from "./support/browser.mjs";
import { toast } from "./support/dashboard.mjs";
import { fits } from "./support/fit.mjs";
import { change, makeFiles, openMedia, startReceiver, uploadFile } from "./support/media.mjs";
import { start } from "./support/start.mjs";

const SUBTITLES = "WEBVTT\n\n00:00.000 --> 00:02.000\nHello\n";

/** A receiver of webhooks that fails, a web page in the place of subtitles, and subtitles. */
const receive = (path) => {
  if (path === "/hook") return { status: 500, body: "broken" };
  return path === "/page.vtt" ? { type: "text/html", body: "<!doctype html>" } : { type: "text/vtt", body: SUBTITLES };
};

const { kinora, files, receiver, open } = await start({ files: makeFiles, receiver: () => startReceiver(receive) });
const upload = (title, ...options) => uploadFile(kinora, files.file("clip.mp4"), title, ...options);

test("playback ID is created with all fields, and deleted after the dialog", async () => {
  const media = await upload("Playback IDs");
  await open(async (page) => {
    await openMedia(page, kinora, media, { tab: "playback" });
    await page.getByRole("button", { name: "Create playback ID" }).click();
    const panel = page.getByRole("region", { name: "Create playback ID" });
    await panel.getByRole("radio", { name: "Private" }).click();
    await panel.getByLabel("Max. resolution").selectOption("480p");
    await panel.getByRole("radio", { name: "AES-128" }).click();
    await panel.getByText("Rules", { exact: true }).click();
    await panel.getByLabel("Rejected user agents").fill("BadBot");
    await fits(page, "form of a playback ID");
    await panel.getByRole("group", { name: "Pages" }).getByRole("radio", { name: "Allow only" }).click();
    await panel.getByLabel("Allowed domains").fill("https://shop.example/a");
    await panel.getByRole("button", { name: "Create playback ID" }).click();
    await panel.getByText("Allowed domains must be one host").waitFor();
    await panel.getByLabel("Allowed domains").fill("shop.example");
    await panel.getByRole("button", { name: "Create playback ID" }).click();
    await toast(page, "Playback ID created");
    const created = (await kinora.media(media.id)).playbackIds.find(({ accessPolicy }) => accessPolicy === "private");
    assert.equal(created.encryption, "aes-128");
    assert.deepEqual(created.accessRestrictions.domains, { defaultPolicy: "deny", allow: ["shop.example"], deny: [] });
    assert.deepEqual(created.accessRestrictions.userAgents.deny, ["BadBot"]);
    await page.getByText("only 1 domain").waitFor();

    await page.getByRole("button", { name: `Delete the playback ID ${created.id.slice(0, 8)}` }).click();
    const dialog = page.getByRole("dialog", { name: "Delete this playback ID?" });
    await dialog.getByText(created.id).waitFor();
    await fits(page, "delete a playback ID");
    await dialog.getByRole("button", { name: "Delete playback ID" }).click();
    await toast(page, "Playback ID deleted");
    assert.equal((await kinora.media(media.id)).playbackIds.length, 1);
  });
});

test("rule tester judges saved and unsaved rules", async () => {
  const media = await upload("Tester");
  const [{ id }] = media.playbackIds;
  await open(async (page) => {
    await openMedia(page, kinora, media, { tab: "playback" });
    await page.getByRole("button", { name: `Rules of ${id.slice(0, 8)}` }).click();
    await page.getByText("only a private playback ID restricts who can play it").waitFor();
    const tester = page.getByRole("region", { name: "Test the rules" });
    await tester.getByLabel("Page that shows the player").fill("https://other.example/a");
    await tester.getByRole("button", { name: "Test" }).click();
    await tester.getByText("Allowed", { exact: true }).waitFor();

    await page.getByRole("group", { name: "Pages" }).getByRole("radio", { name: "Allow only" }).click();
    await page.getByLabel("Allowed domains").fill("shop.example");
    await tester.getByRole("button", { name: "Test" }).click();
    await tester.getByText("Rejected", { exact: true }).waitFor();
    assert.deepEqual((await kinora.media(media.id)).playbackIds[0].accessRestrictions.domains.allow, [], "nothing is stored");
    await fits(page, "rules");
    await tester.getByLabel("Page that shows the player").fill("https://www.shop.example/a");
    await tester.getByRole("button", { name: "Test" }).click();
    await tester.getByText("Allowed", { exact: true }).waitFor();

    await page.getByRole("button", { name: "Save rules" }).click();
    await toast(page, "Rules saved");
    const { domains } = (await kinora.media(media.id)).playbackIds[0].accessRestrictions;
    assert.deepEqual(domains, { defaultPolicy: "deny", allow: ["shop.example"], deny: [] });
    await page.getByLabel("Allowed domains").fill("not a host");
    await page.getByRole("button", { name: "Save rules" }).click();
    await page.getByText("Allowed domains must be one host").waitFor();
  });
});

test("subtitles are added by address, replaced and deleted", async () => {
  const media = await upload("Tracks");
  await open(async (page) => {
    await openMedia(page, kinora, media, { tab: "tracks" });
    await page.getByRole("button", { name: "Add a track" }).click();
    const panel = page.getByRole("region", { name: "Add a track" });
    await panel.getByLabel("URL of the file").fill("not a URL");
    await panel.getByLabel("Language code").fill("en");
    await panel.getByLabel("Name", { exact: true }).fill("English");
    await panel.getByRole("button", { name: "Add track" }).click();
    await panel.locator(".problem").waitFor();
    await fits(page, "form of a track");
    await panel.getByLabel("URL of the file").fill(`${receiver.address}/page.vtt`);
    await panel.getByRole("button", { name: "Add track" }).click();
    await toast(page, "Track added");
    const row = page.getByRole("row").filter({ hasText: "English" });
    await row.getByText("Failed").waitFor({ timeout: HANG_MS });
    await fits(page, "failed track");

    await row.getByRole("button", { name: "Change English" }).click();
    await page.getByLabel("URL of another file").fill(`${receiver.address}/en.vtt`);
    await page.getByRole("button", { name: "Save" }).click();
    await toast(page, "Track changed");
    await row.getByText("Available").waitFor({ timeout: HANG_MS });
    assert.equal((await kinora.media(media.id)).subtitleAvailable, true);

    await row.getByRole("button", { name: "Delete English" }).click();
    await page.getByRole("dialog", { name: "Delete “English”?" }).getByRole("button", { name: "Delete track" }).click();
    await toast(page, "Track deleted");
    await row.waitFor({ state: "detached" });
  });
});

test("renditions say what is copied and what is encoded", async () => {
  const media = await upload("Renditions");
  await open(async (page) => {
    await openMedia(page, kinora, media, { tab: "renditions" });
    const table = page.getByRole("table", { name: "Renditions" });
    await table.getByText("copied").first().waitFor();
    await table.getByText("same as the source").first().waitFor();
    await table.getByText("never").first().waitFor();
    await page.getByText("The tracks of the source are copied").waitFor();
  });
});

test("renditions say why the video is not copied", async () => {
  const media = await uploadFile(kinora, files.file("open-gop.mp4"), "Open GOP");
  assert.equal(media.playbackReport.notCopied?.[0]?.reason, "open_gop");
  await open(async (page) => {
    await openMedia(page, kinora, media, { tab: "renditions" });
    await page.getByRole("table", { name: "Renditions" }).getByText("encoded").first().waitFor();
    const why = page.getByRole("region", { name: "Why some tracks are encoded" });
    await why.getByText("Video: open GOP.").waitFor();
    await why.getByText("To avoid encoding, use a source with closed GOPs.").waitFor();
    await fits(page, "renditions that are encoded");
  });
});

test("events show the deliveries of a failing webhook; new ones wait behind a button", async () => {
  await kinora.command("webhook", "create", "--workspace", "Development", "--url", `${receiver.address}/hook`);
  const media = await upload("Events");
  await open(async (page) => {
    await openMedia(page, kinora, media, { tab: "events" });
    const list = page.getByRole("list", { name: "Events" });
    const ready = list.getByRole("listitem").filter({ hasText: "video.media.ready" }).first();
    await ready.locator("summary").click();
    await ready.getByText("The receiver responded with status 500.").waitFor({ timeout: HANG_MS });
    await ready.getByText("Retrying").waitFor();
    await ready.getByText(media.id).first().waitFor();
    await ready.getByRole("button", { name: "Copy Body as webhooks get it" }).click();
    await toast(page, "Copied");
    await fits(page, "events");

    await change(kinora, media, { title: "Another title" });
    const button = page.getByRole("button", { name: /^Show \d+ new event/ });
    await button.waitFor({ timeout: HANG_MS });
    assert.equal(await list.getByText("video.media.updated").count(), 0, "nothing moves");
    await button.click();
    await list.getByText("video.media.updated").first().waitFor();
  });
});
