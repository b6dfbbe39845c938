// The accessibility trees of the dashboard, as a screen reader gets them, are golden files. Needs
// `make web`, the binary (`KINORA_BIN`, or target/debug/kinora) and Chromium. `UPDATE_GOLDEN=1`
// writes the files.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { setUp } from "./support/dashboard.mjs";
import { start } from "./support/start.mjs";

const { kinora, open } = await start();

/** Golden files of pages behind the sign-in, their paths, and a text that each has when it is loaded. */
const PAGES = [
  ["account", "account", "This session"],
  ["access-tokens", "organisation/access-tokens", /read-write/i],
  ["people", "organisation/people", "No open invitations"],
  ["workspaces", "organisation/workspaces", "Production"],
  ["audit", "organisation/audit", "used the setup link"],
  ["settings", "organisation/settings", "Save"],
];

/** Compares the tree of the page with `golden/dashboard-{name}.aria.yml`, without values of this run. */
async function isSame(page, name, email) {
  await page.evaluate(() => document.querySelectorAll("time").forEach((time) => (time.textContent = "TIME")));
  const tree = await page.locator("body").ariaSnapshot();
  const values = [
    [kinora.address, "SERVER"],
    [new URL(kinora.address).host, "HOST"],
    [email, "EMAIL"],
    [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID"],
    [/[0-9a-f]{8}(-[0-9a-f]{4}){2}…/g, "SHORT_ID"],
  ];
  const found = `${values.reduce((text, [value, word]) => text.replaceAll(value, word), tree).trim()}\n`;
  const path = new URL(`golden/dashboard-${name}.aria.yml`, import.meta.url);
  if (process.env.UPDATE_GOLDEN) await writeFile(path, found);
  assert.equal(found, await readFile(path, "utf8"));
}

test("accessibility trees match the golden files", async () => {
  await open(async (page) => {
    const email = await setUp(kinora, page);
    await page.getByRole("heading", { name: "No media yet" }).waitFor();
    await page.locator("[data-uploads]").waitFor({ state: "attached" });
    await isSame(page, "library", email);
    for (const [name, path, loaded] of PAGES) {
      await page.goto(`${kinora.address}/dashboard/${path}`);
      await page.getByRole("main").getByText(loaded).filter({ visible: true }).first().waitFor();
      // The chunk of uploads loads after the page.
      await page.locator("[data-uploads]").waitFor({ state: "attached" });
      await isSame(page, name, email);
    }
    await page.context().clearCookies();
    await page.goto(`${kinora.address}/dashboard/sign-in`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await isSame(page, "sign-in", email);
  }, { timezoneId: "UTC" });
});
