// Access tokens and the settings of the organisation for all people: keyboard, widths, axe, plain HTTP.
// Needs `make web`, the binary (`KINORA_BIN`, or target/debug/kinora) and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setUp, toast, withPage } from "./support/dashboard.mjs";
import { fits, hasFocus, tabTo } from "./support/fit.mjs";
import { startPlainKinora } from "./support/kinora.mjs";
import { start } from "./support/start.mjs";
import { createToken, downloaded, isTokenList, openTokens, panelOf, TOKENS_API } from "./support/tokens.mjs";

const { kinora, browser, open } = await start();

test("states of the page fit, and axe finds nothing", async () => {
  await open(async (page) => {
    await openTokens(page, kinora);
    await fits(page, "list");
    await page.getByRole("button", { name: "New token" }).click();
    assert.ok(await page.getByRole("radio", { name: "Read-only" }).isChecked(), "read-only is the default");
    await page.getByLabel("Name", { exact: true }).fill("   ");
    await page.getByRole("button", { name: "Create token" }).click();
    await page.locator(".problem").waitFor();
    await fits(page, "form with a field error");
    await page.getByRole("button", { name: "Cancel" }).click();
    assert.ok(await hasFocus(page.getByRole("heading", { level: 1 })));
    await page.getByRole("radio", { name: /^Revoked/ }).click();
    await fits(page, "revoked tokens");

    await page.route(isTokenList, (route) => route.fulfill({ json: { success: true, data: [] } }));
    await page.reload();
    await page.getByRole("heading", { name: "No access tokens yet" }).waitFor();
    await fits(page, "no tokens");
    await page.unrouteAll();
    await page.route(isTokenList, (route) => route.fulfill({ status: 404, json: { success: false, error: { code: 404, message: "not found" } } }));
    await page.reload();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("No token was revoked in the last 30 days").waitFor();
  });
});

test("keyboard alone creates and revokes a token", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.getByRole("table").waitFor();
    await tabTo(page, page.getByRole("button", { name: "New token" }));
    await page.keyboard.press("Enter");
    assert.ok(await hasFocus(page.getByLabel("Name", { exact: true })));
    await page.keyboard.type("Typed");
    await tabTo(page, page.getByRole("radio", { name: "Read-only" }));
    await page.keyboard.press("ArrowRight");
    await tabTo(page, page.getByRole("button", { name: "Create token" }));
    await page.keyboard.press("Enter");
    const panel = panelOf(page, "Typed");
    await panel.getByText("Development · read-write").waitFor();
    assert.ok(await hasFocus(panel.getByRole("heading")));
    await tabTo(page, page.getByRole("button", { name: "Copy the secret" }));
    await page.keyboard.press("Enter");
    await toast(page, "Copied");
    await tabTo(page, page.getByRole("button", { name: "Close", exact: true }));
    await page.keyboard.press("Enter");
    assert.ok(await hasFocus(page.getByRole("heading", { level: 1 })));
    await tabTo(page, page.getByRole("button", { name: "Revoke Typed" }));
    await page.keyboard.press("Enter");
    assert.ok(await hasFocus(page.getByRole("button", { name: "Cancel" })), "the dangerous button is not the default");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await toast(page, "Token revoked");
  });
});

test("plain HTTP on a network address: the hidden secret is copied", async () => {
  const plain = await startPlainKinora();
  try {
    await withPage(browser, plain.publicUrl, async (page) => {
      await openTokens(page, plain);
      const answer = page.waitForResponse((response) => response.request().method() === "POST" && response.url().endsWith(TOKENS_API));
      await createToken(page, "Plain");
      const { secret } = (await (await answer).json()).data;
      await page.getByRole("button", { name: "Copy the secret" }).click();
      await toast(page, "Copied");
      const file = JSON.parse((await downloaded(page, "Workspace file (.json)")).text);
      assert.equal(file.baseUrl, `${plain.publicUrl}/v1`);
      await page.getByRole("link", { name: "Account" }).click();
      await page.getByLabel("Name").fill("");
      await page.getByLabel("Name").press("Control+V");
      assert.equal(await page.getByLabel("Name").inputValue(), secret);
    });
  } finally {
    await plain.stop();
  }
});

test("organisation gets another name; the library leads to the tokens", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await page.getByRole("region", { name: "Create an access token" }).getByRole("link", { name: "Access Tokens" }).click();
    await page.getByRole("table").waitFor();
    await page.getByRole("navigation", { name: "Organisation" }).getByRole("link", { name: "Settings" }).click();
    await page.getByLabel("Name").fill("  ");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".problem").waitFor();
    await fits(page, "settings with a field error");
    await page.getByLabel("Name").fill("Northlight Films");
    await page.getByRole("button", { name: "Save" }).click();
    await toast(page, "Name saved");
    await page.getByRole("button", { name: /^Workspace/ }).getByText("Northlight Films").waitFor();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), "Northlight Films");
  });
});

test("narrow screens: the bar at the bottom leads everywhere", async () => {
  await open(
    async (page) => {
      await setUp(kinora, page);
      const bar = page.getByRole("navigation", { name: "Main" });
      await bar.getByRole("link", { name: "Tokens" }).click();
      await page.getByRole("heading", { level: 1, name: "Access Tokens" }).waitFor();
      await bar.getByRole("button", { name: "More" }).click();
      await page.getByRole("group", { name: "More" }).getByRole("link", { name: "Settings" }).click();
      await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
      assert.equal(await page.getByRole("group", { name: "More" }).count(), 0, "the menu is closed");
      await bar.getByRole("button", { name: "More" }).click();
      await fits(page, "menu of more pages");
    },
    { viewport: { width: 360, height: 800 } },
  );
});
