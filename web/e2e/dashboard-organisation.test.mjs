// People and workspaces in the dashboard of a real server. Needs `make web`, the binary (`KINORA_BIN`, or
// target/debug/kinora) and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PASSWORD, setUp, signIn, toast } from "./support/dashboard.mjs";
import { choose, invite, join, openPage, rowOf, shownLink } from "./support/organisation.mjs";
import { start } from "./support/start.mjs";

const OTHER_PASSWORD = "seven lanterns above the bay";

const { kinora, open } = await start();

test("the last administrator stays, and the page says why", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "People");
    await choose(page, "Mara Lindqvist", "Disable");
    const dialog = page.getByRole("dialog", { name: "Disable Mara Lindqvist?" });
    await dialog.getByText("you will be signed out").waitFor();
    await dialog.getByRole("button", { name: "Disable" }).click();
    await dialog.getByRole("alert").filter({ hasText: "This is the last administrator who can sign in" }).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.equal(await rowOf(page, "Mara Lindqvist").getByText("Disabled").count(), 0);
  });
});

test("invitation: shown once, used in another browser, then the person is listed", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "People");
    const link = await invite(page, "ines@northlight.example");
    assert.match(link, new RegExp(`^${kinora.address}/dashboard/join#\\S{43}$`));
    await page.getByRole("button", { name: "Copy the link" }).waitFor();
    await page.getByText("Member, invited by Mara Lindqvist").waitFor();

    await open(async (other) => {
      await join(other, link, "Ines Costa");
      await openPage(other, "People");
      await rowOf(other, "Ines Costa").getByText("You", { exact: true }).waitFor();
    });

    await page.getByRole("button", { name: "Done" }).click();
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "People", "the focus is on the heading");
    const secret = new URL(link).hash.slice(1);
    assert.ok(!(await page.content()).includes(secret), "the link is gone from the page");
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state]));
    assert.ok(!stored.includes(secret), "the link is in no storage");
    await page.reload();
    await rowOf(page, "Ines Costa").getByText("Member").waitFor();
    await page.getByText("No open invitations").waitFor();
  });
});

test("invitation that was taken back does not work", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "People");
    const link = await invite(page, "noor@northlight.example", "Viewer");
    await page.getByRole("button", { name: "Take back: noor@northlight.example" }).click();
    await toast(page, "Invitation taken back");
    await page.getByText("No open invitations").waitFor();
    await open(async (other) => {
      await other.goto(link);
      await other.getByRole("heading", { name: /The link (cannot be used any more|is not valid)/ }).waitFor();
    });
    await page.getByRole("button", { name: "Invite a person" }).click();
    await page.getByLabel("Email").fill("no address");
    await page.getByRole("button", { name: "Create the link" }).click();
    await page.locator(".problem").waitFor();
    assert.equal(await page.getByLabel("Email").inputValue(), "no address");
  });
});

test("role, disable, enable, reset link and removal reach the other browser", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "People");
    const email = "tomasz@northlight.example";
    const link = await invite(page, email, "Viewer");
    await open(async (other) => {
      await join(other, link, "Tomasz Wójcik");
      await page.reload();

      // The server asks for the password once: the request goes on after it.
      await page.route("**/api/people/*", (route) => {
        const error = { code: 403, message: "confirmation needed", description: "confirm with the password at session/confirm" };
        return route.fulfill({ status: 403, json: { success: false, error } });
      }, { times: 1 });
      await choose(page, "Tomasz Wójcik", "Change the role");
      const dialog = page.getByRole("dialog", { name: "Role of Tomasz Wójcik" });
      await dialog.getByRole("radio", { name: "Member" }).click();
      await dialog.getByText("Uploads, changes and deletes media").waitFor();
      await dialog.getByRole("button", { name: "Change the role" }).click();
      const confirm = page.getByRole("dialog", { name: "Confirm that it is you" });
      await confirm.getByLabel("Password", { exact: true }).fill(PASSWORD);
      await confirm.getByRole("button", { name: "Confirm" }).click();
      await toast(page, "Role changed");
      await rowOf(page, "Tomasz Wójcik").getByText("Member", { exact: true }).waitFor();

      await choose(page, "Tomasz Wójcik", "Disable");
      await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
      await rowOf(page, "Tomasz Wójcik").getByText("Disabled").waitFor();
      await other.getByRole("link", { name: "Account" }).click();
      await other.getByRole("dialog", { name: "Sign in again" }).waitFor();

      await choose(page, "Tomasz Wójcik", "Enable");
      await toast(page, "Enabled");
      await signIn(other.getByRole("dialog"), email);
      await other.getByText("This session").waitFor();

      await choose(page, "Tomasz Wójcik", "Link to a new password");
      const reset = await shownLink(page, `Link to a new password for ${email}`);
      await open(async (third) => {
        await third.goto(reset);
        await third.getByLabel("New password", { exact: true }).fill(OTHER_PASSWORD);
        await third.getByRole("button", { name: "Set the password" }).click();
        await third.getByRole("heading", { level: 1, name: "Library" }).waitFor();
      });

      await choose(page, "Tomasz Wójcik", "Remove");
      const remove = page.getByRole("dialog", { name: "Remove Tomasz Wójcik?" });
      await remove.getByText("Unchanged: access tokens").waitFor();
      await remove.getByRole("button", { name: "Remove" }).click();
      await toast(page, "Removed");
      await rowOf(page, "Tomasz Wójcik").waitFor({ state: "detached" });
    });
  });
});

test("member sees the people without actions, and no other page", async () => {
  await open(async (page) => {
    await setUp(kinora, page, { name: "Ada Administrator" });
    await page.context().clearCookies();
    await setUp(kinora, page, { role: "member", name: "Milo Member" });
    const forbidden = [];
    page.on("response", (response) => response.status() === 403 && forbidden.push(response.url()));
    await openPage(page, "People");
    await rowOf(page, "Ada Administrator").waitFor();
    assert.equal(await page.getByRole("button", { name: /^Actions|^Invite/ }).count(), 0);
    assert.equal(await page.getByText("Open invitations").count(), 0);
    for (const name of ["workspaces", "audit", "server"]) {
      await page.goto(`${kinora.address}/dashboard/organisation/${name}`);
      await page.getByRole("heading", { level: 1, name: "Administrators only" }).waitFor();
      await page.getByText("Ada Administrator").waitFor();
    }
    assert.deepEqual(forbidden, [], "the page requests nothing that it may not see");
  });
});

test("workspaces: created, renamed and deleted, and the switch follows", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await openPage(page, "Workspaces");
    const development = rowOf(page, "Development");
    await development.getByText("Delete its content first").waitFor(); // it has an access token
    assert.equal(await page.getByRole("button", { name: "Delete: Development" }).count(), 0);

    await page.getByRole("button", { name: "New workspace" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Development");
    await page.getByRole("button", { name: "Create the workspace" }).click();
    await page.locator('.panel [role="alert"], .panel .problem').filter({ hasText: /./ }).first().waitFor();
    await page.getByLabel("Name", { exact: true }).fill("<b>Staging</b>");
    await page.getByRole("button", { name: "Create the workspace" }).click();
    await toast(page, "Workspace created");

    const inSwitch = page.getByRole("group", { name: "Workspaces", exact: true });
    await page.getByRole("button", { name: /^Workspace:/ }).click();
    await inSwitch.getByText("<b>Staging</b>").waitFor();
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Rename: <b>Staging</b>" }).click();
    await page.getByLabel("New name of <b>Staging</b>").fill("Preview");
    await page.keyboard.press("Enter");
    await toast(page, "Workspace renamed");
    await page.getByRole("button", { name: /^Workspace:/ }).click();
    await inSwitch.getByRole("link", { name: "Preview" }).click();
    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    await page.getByRole("button", { name: /^Workspace: Preview/ }).waitFor();

    await openPage(page, "Workspaces");
    await page.getByRole("button", { name: "Delete: Preview" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete the workspace Preview?" });
    await dialog.getByRole("button", { name: "Delete the workspace" }).click();
    await toast(page, "Workspace deleted");
    await rowOf(page, "Preview").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Workspace: Development" }).waitFor();
  });
});

test("the last workspace offers no deletion, and says why", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await page.route("**/api/workspaces", async (route) => {
      const response = await route.fetch();
      const { data } = await response.json();
      await route.fulfill({ json: { success: true, data: [{ ...data[0], isEmpty: true }] } });
    });
    await openPage(page, "Workspaces");
    await page.getByText("The last workspace cannot be deleted").waitFor();
    assert.equal(await page.getByRole("button", { name: /^Delete/ }).count(), 0);
  });
});
