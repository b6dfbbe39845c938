// Audit log and server in the dashboard of a real server. Needs `make web`, the binary (`KINORA_BIN`, or
// target/debug/kinora) and Chromium.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { setUp, toast } from "./support/dashboard.mjs";
import { openPage } from "./support/organisation.mjs";
import { start } from "./support/start.mjs";

const { kinora, open } = await start();

test("audit log: sentences, filters in the address, details, export", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "Workspaces");
    await page.getByRole("button", { name: "New workspace" }).click();
    await page.getByLabel("Name", { exact: true }).fill("أرشيف <script>");
    await page.getByRole("button", { name: "Create the workspace" }).click();
    await toast(page, "Workspace created");

    await openPage(page, "Audit log");
    const entries = page.getByRole("list", { name: "Entries" });
    const entry = entries.locator("summary").filter({ hasText: "created the workspace أرشيف <script>" });
    await entry.waitFor();
    assert.match(await entry.innerText(), /^Mara Lindqvist created the workspace أرشيف <script>/);

    await page.getByLabel("Action", { exact: true }).selectOption("workspace");
    await page.waitForURL("**/organisation/audit?action=workspace");
    await entries.getByText("used the setup link").first().waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Date", exact: true }).click();
    const today = await page.evaluate(() => new Date().toLocaleDateString("sv-SE"));
    await page.getByLabel("From", { exact: true }).fill(today);
    await page.waitForURL(/&from=/);
    await entry.waitFor();
    await page.reload();
    await page.getByRole("button", { name: `Since ${today}` }).click();
    assert.equal(await page.getByLabel("From", { exact: true }).inputValue(), today, "the address has the filter");

    await page.keyboard.press("Escape");
    await entry.click();
    const details = entries.locator("details[open]");
    await details.getByText("workspace.created").waitFor();
    assert.match(await details.getByRole("term").filter({ hasText: "Time, UTC" }).locator("xpath=following-sibling::dd").innerText(), /UTC$/);
    await details.getByRole("button", { name: "Only this object" }).click();
    await page.waitForURL(/&object=/);
    await page.getByText("1 entry", { exact: true }).waitFor();

    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export" }).click()]);
    assert.equal(download.suggestedFilename(), "kinora-audit.jsonl");
    const lines = (await readFile(await download.path(), "utf8")).trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(lines.map(({ action, object }) => [action, object.name]), [["workspace.created", "أرشيف <script>"]]);

    await page.getByRole("button", { name: "Remove the filter Object" }).click();
    await page.getByRole("button", { name: "Remove the filter Date" }).click();
    await page.getByRole("button", { name: "Date", exact: true }).click();
    await page.getByLabel("To", { exact: true }).fill("2020-01-01");
    await page.getByText("No entry matches").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Remove all filters" }).click();
    await entries.getByText("used the setup link").first().waitFor();
  });
});

test("audit log: names that are words of the program stay names", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    for (const name of ["__proto__", "constructor", "setup", "admin"]) {
      await page.goto(`${kinora.address}/dashboard/account`);
      await page.getByLabel("Name", { exact: true }).fill(name);
      const isSaved = page.waitForResponse((response) => response.request().method() === "PATCH" && response.ok());
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await isSaved;
    }
    await page.goto(`${kinora.address}/dashboard/organisation/audit`);
    const entries = page.getByRole("list", { name: "Entries" });
    for (const name of ["__proto__", "constructor", "setup", "admin"]) {
      const words = entries.locator("summary .words").filter({ hasText: new RegExp(`changed the name of .* to ${name}$`) });
      await words.first().waitFor();
    }
  });
});

test("audit log: more is loaded below, new entries wait", async () => {
  await open(async (page) => {
    await page.clock.install();
    await setUp(kinora, page);
    const rename = (names) =>
      page.evaluate(async (names) => {
        const headers = { "content-type": "application/json" };
        for (const name of names) {
          const { ok } = await fetch("/dashboard/api/me", { method: "PATCH", headers, body: JSON.stringify({ name }) });
          if (!ok) throw new Error("not renamed");
        }
      }, names);
    await rename(Array.from({ length: 70 }, (_, n) => `Name ${n}`));
    await openPage(page, "Audit log");
    const entries = page.getByRole("list", { name: "Entries" }).getByRole("listitem");
    await page.getByText("50 entries so far").waitFor();
    const first = await entries.first().innerText();
    await page.getByRole("button", { name: "Load more" }).click();
    await entries.nth(50).waitFor();
    assert.equal(await entries.first().innerText(), first);
    const loaded = await entries.count();

    await rename(["Newest name"]);
    await page.clock.runFor(31_000);
    await page.getByRole("button", { name: "Show new entries" }).waitFor();
    assert.equal(await entries.first().innerText(), first, "nothing that is read moves");
    assert.equal(await entries.count(), loaded);
    await page.getByRole("button", { name: "Show new entries" }).click();
    await entries.first().getByText("to Newest name").waitFor();
    await page.getByText("50 entries so far").waitFor();
  });
});

test("server: checks, versions and storage, asked again", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "Server");
    const checks = page.getByRole("region", { name: "Checks" });
    await checks.getByRole("listitem").filter({ hasText: "Database" }).getByText("OK").waitFor();
    await checks.getByRole("listitem").filter({ hasText: "Storage" }).getByText("OK").waitFor();
    await page.getByText(/^(SQLite|PostgreSQL), schema \d+$/).waitFor();
    await page.getByText(/ of .* used, .* free$/).waitFor();
    await page.getByText(/^ffmpeg \S+/).waitFor();
    await page.getByRole("button", { name: "Check again" }).click();
    await toast(page, "The server has answered");
  });
});
