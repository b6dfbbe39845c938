// The dashboard for all people: keyboard, narrow screens, light and dark, axe. Needs `make web`, the binary
// (`KINORA_BIN`, or target/debug/kinora) and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPerson, PASSWORD, resetLink, setUp, withPage } from "./support/dashboard.mjs";
import { fits, tabTo } from "./support/fit.mjs";
import { startPlainKinora } from "./support/kinora.mjs";
import { start } from "./support/start.mjs";

const { kinora, browser, open } = await start();

/** Pages and states before the sign-in: their names, and how to get there. */
const DOOR_PAGES = [
  ["first account", async (page) => page.goto(`${kinora.address}/dashboard/sign-in`), "Make the first account"],
  ["setup link", async (page) => page.goto((await createPerson(kinora)).link), "Set up your account"],
  ["reset link", async (page) => page.goto(await resetLink(kinora, await setUp(kinora, page))), "Choose a new password"],
  ["unknown link", async (page) => page.goto(`${kinora.address}/dashboard/setup#unknown`), "The link is not valid"],
  ["missing secret", async (page) => page.goto(`${kinora.address}/dashboard/join`), "The link is not complete"],
];

test("pages before the sign-in fit, and axe finds nothing", async () => {
  for (const [name, go, heading] of DOOR_PAGES) {
    await open(async (page) => {
      await go(page);
      await page.getByRole("heading", { name: heading }).waitFor();
      await fits(page, name);
    });
  }
});

test("pages behind the sign-in fit, and axe finds nothing", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await fits(page, "library");
    await page.getByRole("button", { name: /^Workspace/ }).click();
    await fits(page, "library, workspaces");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Your menu/ }).click();
    await fits(page, "library, user menu");
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByText("This session").waitFor();
    await page.getByLabel("Current password").fill("not the password");
    await page.getByLabel("New password", { exact: true }).fill("short");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.locator(".problem").first().waitFor();
    await fits(page, "account with a field error");
    await page.keyboard.press("Tab");
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await fits(page, "list of shortcuts");
    await page.keyboard.press("Escape");
    await page.goto(`${kinora.address}/dashboard/w/unknown`);
    await page.getByRole("heading", { name: "No such workspace" }).waitFor();
    await fits(page, "unknown workspace");
    await page.goto(`${kinora.address}/dashboard/nothing/here`);
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    await fits(page, "unknown page");

    await page.getByRole("link", { name: "Account" }).click();
    await page.getByText("This session").waitFor();
    await page.getByLabel("Name").fill("Another");
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    await fits(page, "sign in again");
    await page.getByRole("button", { name: "Not now" }).click();
    await page.getByRole("alert").filter({ hasText: "You are signed out" }).waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), "Another");

    await page.goto(`${kinora.address}/dashboard/sign-in`);
    await page.getByLabel("Email").fill("person@northlight.example");
    await page.getByLabel("Password", { exact: true }).fill("wrong password");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("alert").filter({ hasText: "wrong" }).waitFor();
    await fits(page, "sign-in with an error");
  });
});

test("warnings about the connection fit, and axe finds nothing", async () => {
  const plain = await startPlainKinora();
  try {
    await withPage(browser, plain.publicUrl, async (page) => {
      await setUp(plain, page);
      await page.getByRole("region", { name: "Connection" }).waitFor();
      await fits(page, "library over plain HTTP");
    });
    await withPage(browser, plain.address, async (page) => {
      await page.goto(`${plain.address}/dashboard/sign-in`);
      await page.getByRole("link", { name: "Open it there" }).waitFor();
      await fits(page, "sign-in at another address");
    });
  } finally {
    await plain.stop();
  }
});

test("keyboard alone signs in, changes the look and signs out", async () => {
  await open(async (page) => {
    const focused = () => page.evaluate(() => document.activeElement.name || document.activeElement.textContent.trim());
    const email = await setUp(kinora, page);
    await page.context().clearCookies();
    await page.goto(`${kinora.address}/dashboard/account`);
    await page.getByLabel("Email").waitFor(); // the heading is there before the form
    assert.equal(await focused(), "email");
    await page.keyboard.type(email);
    await tabTo(page, page.getByLabel("Password", { exact: true }));
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");

    const heading = page.getByRole("heading", { level: 1, name: "Account" });
    await heading.waitFor();
    assert.equal(await focused(), "Account", "the focus is on the heading");
    assert.equal(await page.title(), "Account · Kinora");
    await page.reload();
    await heading.waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "content");

    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    assert.equal(await focused(), "Library");

    const menu = page.getByRole("button", { name: /^Your menu/ });
    await tabTo(page, menu);
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("radio", { name: "System" }));
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.locator(":root[data-theme=dark]").waitFor();
    await page.keyboard.press("Escape");
    assert.ok(await menu.evaluate((element) => element === document.activeElement), "Escape gives the focus back");
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("button", { name: "Sign out" }));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });
});

test("shortcuts can be switched off, and do not act in fields", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    await page.getByLabel("Name").press("?");
    assert.equal(await page.getByRole("dialog").count(), 0);
    assert.ok((await page.getByLabel("Name").inputValue()).includes("?"));
    const stored = page.waitForResponse((response) => response.request().method() === "PATCH" && response.ok());
    await page.getByRole("group", { name: "Keyboard shortcuts" }).getByRole("radio", { name: "Off" }).click();
    await stored;
    await page.reload();
    const off = page.getByRole("radio", { name: "Off" });
    await off.waitFor();
    assert.ok(await off.isChecked(), "the server has stored it");
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("?");
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
  });
});

test("times are shown in UTC if the person wants that", async () => {
  await open(
    async (page) => {
      await setUp(kinora, page);
      await page.getByRole("link", { name: "Account" }).click();
      const time = page.locator("time").first();
      await time.waitFor();
      assert.doesNotMatch(await time.innerText(), /UTC/);
      assert.match(await time.getAttribute("title"), /Asia\/Tokyo\n.*UTC/);
      await page.getByRole("group", { name: "Time zone" }).getByRole("radio", { name: "UTC" }).click();
      await page.locator("time", { hasText: "UTC" }).first().waitFor();
    },
    { timezoneId: "Asia/Tokyo" },
  );
});

test("without JavaScript the page names the browsers it needs", async () => {
  await open(
    async (page) => {
      await page.goto(`${kinora.address}/dashboard`);
      await page.getByText("a browser of the year 2024 or later").waitFor();
    },
    { javaScriptEnabled: false },
  );
});

test("browser without a feature that the page needs keeps the same sentence", async () => {
  await open(async (page, context) => {
    await context.addInitScript(() => delete HTMLElement.prototype.popover);
    await page.goto(`${kinora.address}/dashboard/sign-in`, { waitUntil: "load" });
    await page.getByText("a browser of the year 2024 or later").waitFor();
    assert.equal(await page.getByRole("textbox").count(), 0);
    await fits(page, "older browser");
  });
});
