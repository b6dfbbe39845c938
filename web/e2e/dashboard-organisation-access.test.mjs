// People, workspaces, audit log and server: keyboard, narrow screens, light and dark, axe. Needs
// `make web`, the binary (`KINORA_BIN`, or target/debug/kinora) and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setUp, toast } from "./support/dashboard.mjs";
import { fits, hasFocus, tabTo } from "./support/fit.mjs";
import { choose, invite, openPage, rowOf } from "./support/organisation.mjs";
import { start } from "./support/start.mjs";

const LONG = `${"a".repeat(50)}@${"long".repeat(12)}.northlight.example`;
/** Pages with what each requests, and a text that it has when it is loaded. */
const PAGES = [
  ["People", "**/api/people", "Mara Lindqvist"],
  ["Workspaces", "**/api/workspaces", "Development"],
  ["Audit log", /\/api\/audit(\?|$)/, "used the setup link"],
  ["Server", "**/api/server", "Checks"],
];

const { kinora, open } = await start();

test("people fit in each state, and axe finds nothing", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "People");
    await page.getByText("No open invitations").waitFor();
    await page.getByRole("button", { name: "Invite a person" }).click();
    await page.getByLabel("Email").fill("no address");
    await page.getByRole("button", { name: "Create the link" }).click();
    await page.locator(".problem").waitFor();
    await fits(page, "invitation with a field error");
    await page.getByRole("button", { name: "Cancel" }).click();
    await invite(page, LONG);
    await page.getByRole("button", { name: `Take back: ${LONG}` }).waitFor();
    await fits(page, "people with a link");
    await page.getByRole("button", { name: "Actions: Mara Lindqvist" }).click();
    await fits(page, "menu of a person");
    await page.keyboard.press("Escape");
    await choose(page, "Mara Lindqvist", "Change the role");
    await fits(page, "role");
    await page.keyboard.press("Escape");
    await choose(page, "Mara Lindqvist", "Remove");
    await fits(page, "removal of a person");
  });
});

test("workspaces, audit log and server fit in each state, and axe finds nothing", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "Workspaces");
    await page.getByRole("button", { name: "New workspace" }).click();
    await page.getByLabel("Name", { exact: true }).fill(`<b>${"Long name ".repeat(5)}</b>`);
    await fits(page, "new workspace");
    await page.getByRole("button", { name: "Create the workspace" }).click();
    await toast(page, "Workspace created");
    await page.getByRole("button", { name: /^Rename: <b>/ }).click();
    await fits(page, "workspaces with a new name");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Delete: <b>/ }).click();
    await fits(page, "deletion of a workspace");
    await page.keyboard.press("Escape");

    await openPage(page, "Audit log");
    await page.locator("summary").first().click();
    await fits(page, "audit log with details");
    await page.getByRole("button", { name: "Date", exact: true }).click();
    await page.getByLabel("To", { exact: true }).fill("2020-01-01");
    await page.getByText("No entry matches").waitFor();
    await page.keyboard.press("Escape");
    await fits(page, "audit log without a match");

    await openPage(page, "Server");
    await page.getByRole("region", { name: "Checks" }).waitFor();
    await fits(page, "server");
    await page.route("**/api/server", async (route) => {
      const response = await route.fetch();
      const { data } = await response.json();
      const storage = { name: "storage", isOk: false, problem: "only 12 MiB are free", advice: "free disk space in the data folder" };
      const checks = data.checks.map((check) => (check.name === "storage" ? storage : check));
      await route.fulfill({ json: { success: true, data: { ...data, checks, storage: { kind: "folder", freeBytes: null, totalBytes: null } } } });
    });
    await page.getByRole("button", { name: "Check again" }).click();
    await page.getByText("What to do: Free disk space in the data folder.").waitFor();
    await page.getByText("The free space is not known.").waitFor();
    await fits(page, "server with a problem");
  });
});

test("loading and failing pages fit, and work after another attempt", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    for (const [name, requests, loaded] of PAGES) {
      await page.goto(`${kinora.address}/dashboard/account`);
      await page.getByText("This session").waitFor();
      let answer;
      const answered = new Promise((resolve) => (answer = resolve));
      await page.route(requests, async (route) => {
        await answered;
        const error = { code: 400, message: "bad request", description: "the request was rejected" };
        await route.fulfill({ status: 400, headers: { "x-request-id": "request-1" }, json: { success: false, error } });
      });
      await openPage(page, name);
      await page.getByText("Loading").first().waitFor({ state: "attached" });
      await fits(page, `${name} while it is loaded`);
      answer();
      await page.getByRole("alert").getByText("The request was rejected.").first().waitFor();
      await fits(page, `${name} that cannot be loaded`);
      await page.unroute(requests);
      await page.getByRole("button", { name: "Try again" }).first().click();
      await page.getByRole("main").getByText(loaded).first().waitFor();
    }
  });
});

test("member sees “Administrators only”, which fits", async () => {
  await open(async (page) => {
    await setUp(kinora, page, { role: "viewer", name: "Vera Viewer" });
    await openPage(page, "People");
    await rowOf(page, "Vera Viewer").waitFor();
    await fits(page, "people of a viewer");
    await page.goto(`${kinora.address}/dashboard/organisation/audit`);
    await page.getByRole("heading", { level: 1, name: "Administrators only" }).waitFor();
    await fits(page, "administrators only");
  });
});

test("keyboard alone invites, changes a role and takes an invitation back", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await setUp(kinora, page, { name: "Keyboard User" });
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    const heading = page.getByRole("heading", { level: 1, name: "People" });
    await heading.waitFor();
    assert.ok(await hasFocus(heading), "the focus is on the heading");

    const inviteButton = page.getByRole("button", { name: "Invite a person" });
    await tabTo(page, inviteButton);
    await page.keyboard.press("Enter");
    assert.ok(await hasFocus(page.getByLabel("Email")));
    await page.keyboard.type("keys@northlight.example");
    await tabTo(page, page.getByRole("radio", { name: "Member" }));
    await page.keyboard.press("ArrowLeft");
    assert.ok(await page.getByRole("radio", { name: "Viewer" }).isChecked());
    await page.keyboard.press("Enter");
    const linkHeading = page.getByRole("heading", { name: "Invitation link for keys@northlight.example" });
    await linkHeading.waitFor();
    assert.ok(await hasFocus(linkHeading), "the focus is on the link");
    await tabTo(page, page.getByRole("button", { name: "Copy the link" }));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("button", { name: "Done" }));
    await page.keyboard.press("Enter");

    const menu = page.getByRole("button", { name: "Actions: Keyboard User" });
    await tabTo(page, menu);
    await page.keyboard.press("Enter");
    const remove = page.getByRole("group", { name: "Actions: Keyboard User" }).getByRole("button", { name: "Remove" });
    await tabTo(page, remove);
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Remove Keyboard User?" });
    await dialog.waitFor();
    assert.ok(await hasFocus(dialog.getByRole("button", { name: "Cancel" })), "Enter removes nothing");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    assert.ok(await hasFocus(menu), "the focus is on the button of the menu");

    await tabTo(page, page.getByRole("button", { name: "Take back: keys@northlight.example" }));
    await page.keyboard.press("Enter");
    await toast(page, "Invitation taken back");
  });
});

test("keyboard alone creates and renames a workspace, and reads the audit log", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "Workspaces");
    await tabTo(page, page.getByRole("button", { name: "New workspace" }));
    await page.keyboard.press("Enter");
    await page.keyboard.type("Typed");
    await page.keyboard.press("Enter");
    await toast(page, "Workspace created");
    const rename = page.getByRole("button", { name: "Rename: Typed" });
    await tabTo(page, rename);
    await page.keyboard.press("Enter");
    await page.getByLabel("New name of Typed").waitFor();
    await page.keyboard.press("Escape");
    assert.ok(await hasFocus(rename), "Escape gives the focus back");
    await page.keyboard.press("Enter");
    await page.keyboard.press("End");
    await page.keyboard.type(" again");
    await page.keyboard.press("Enter");
    await toast(page, "Workspace renamed");
    assert.ok(await hasFocus(page.getByRole("button", { name: "Rename: Typed again" })));

    await openPage(page, "Audit log");
    const entry = page.locator("summary").filter({ hasText: "renamed the workspace" });
    await entry.waitFor();
    await tabTo(page, entry);
    await page.keyboard.press("Enter");
    await page.locator("details[open]").getByText("workspace.renamed").waitFor();
    await tabTo(page, page.locator("details[open]").getByRole("button", { name: "Only this object" }));
    await page.keyboard.press("Enter");
    await page.waitForURL(/object=/);
  });
});
