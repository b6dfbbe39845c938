// Access tokens in the dashboard of a real server: created, used, revoked. Needs `make web`, the binary
// (`KINORA_BIN`, or target/debug/kinora), curl and Chromium.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { HANG_MS } from "./support/browser.mjs";
import { PASSWORD, setUp, toast } from "./support/dashboard.mjs";
import { fits, hasFocus } from "./support/fit.mjs";
import { start } from "./support/start.mjs";
import { createToken, downloaded, fillForm, isTokenList, openTokens, panelOf, TOKENS_API, TOKENS_PAGE } from "./support/tokens.mjs";

const { kinora, open } = await start();

const confirmationOf = (page) => page.getByRole("dialog", { name: "Confirm that it is you" });
const leavingOf = (page) => page.getByRole("dialog", { name: "Leave without the secret?" });

/** Runs a command of a downloaded file in a shell and returns the status of the response. */
async function statusOf(command) {
  const { stdout } = await promisify(execFile)("sh", ["-c", `${command} --silent --output /dev/null --write-out '%{http_code}'`]);
  return Number(stdout);
}

/** Answers the next request that changes tokens with "confirmation needed", as after 30 minutes. */
async function expireConfirmation(page) {
  let isExpired = true;
  await page.route(
    (url) => url.pathname.startsWith(TOKENS_API),
    async (route) => {
      if (route.request().method() === "GET" || !isExpired) {
        await route.fallback();
        return;
      }
      isExpired = false;
      const error = { code: 403, message: "confirmation needed", description: "confirm with your password at session/confirm" };
      await route.fulfill({ status: 403, json: { success: false, error } });
    },
  );
  return () => (isExpired = true);
}

test("member sees no access tokens and no request for them", async () => {
  await open(async (page) => {
    await setUp(kinora, page, { name: "Ada Administrator" });
    await page.context().clearCookies();
    await setUp(kinora, page, { role: "member", name: "Max Member" });
    const forbidden = [];
    page.on("request", (request) => request.url().includes(TOKENS_API) && forbidden.push(request.url()));
    await page.getByRole("navigation", { name: "Organisation" }).getByRole("link", { name: "People" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Access Tokens" }).count(), 0);
    for (const path of ["access-tokens", "audit", "server", "settings", "workspaces"]) {
      await page.goto(`${kinora.address}/dashboard/organisation/${path}`);
      await page.getByRole("heading", { level: 1, name: "Administrators only" }).waitFor();
      await page.getByText("Ada Administrator").first().waitFor();
      assert.equal(await page.locator("main").getByText("Max Member").count(), 0, path);
    }
    assert.deepEqual(forbidden, []);
    await fits(page, "administrators only");
    assert.equal(await page.evaluate(async (api) => (await fetch(api)).status, TOKENS_API), 403);
  });
});

test("workspace file signs in until the token is revoked", async () => {
  await open(async (page) => {
    await openTokens(page, kinora);
    await createToken(page, "Website backend", "Read-write");
    const json = await downloaded(page, "Workspace file (.json)");
    assert.match(json.name, /^kinora-development-[0-9a-f]{8}\.json$/);
    const file = JSON.parse(json.text);
    assert.equal(file.baseUrl, `${kinora.address}/v1`);
    assert.equal(file.accessToken.permission, "read-write");
    assert.equal(await statusOf(file.example), 200);

    const env = await downloaded(page, ".env");
    assert.match(env.name, /^kinora-development-[0-9a-f]{8}\.env$/);
    const lines = env.text.split("\n");
    assert.ok(lines.includes(`KINORA_TOKEN_ID=${file.accessToken.id}`), env.text);
    assert.ok(lines.includes(`KINORA_TOKEN_SECRET=${file.accessToken.secret}`), "the same secret");

    await page.getByRole("button", { name: "Copy curl" }).click();
    await toast(page, "Copied");
    await page.getByRole("button", { name: "Close", exact: true }).click();

    await page.getByRole("button", { name: "Revoke Website backend" }).click();
    const dialog = page.getByRole("dialog", { name: "Revoke “Website backend”?" });
    await dialog.getByText("Requests with it get 401 within 2 seconds").waitFor();
    // The page may not know of the use yet: the name is typed if it does.
    const typed = dialog.getByRole("textbox");
    if ((await typed.count()) > 0) await typed.fill("Website backend");
    await dialog.getByRole("button", { name: "Revoke token" }).click();
    await toast(page, "Token revoked");
    assert.ok(await hasFocus(page.getByRole("heading", { level: 1 })), "the focus is on the heading");
    await page.getByRole("radio", { name: "Revoked 1" }).waitFor();
    const until = Date.now() + HANG_MS;
    let status = await statusOf(file.example);
    while (status !== 401 && Date.now() < until) status = await statusOf(file.example);
    assert.equal(status, 401);
  });
});

test("token used in the last day is revoked after its name is typed", async () => {
  await open(async (page) => {
    await openTokens(page, kinora);
    await page.route(
      isTokenList,
      async (route) => {
        if (route.request().method() !== "GET") return route.fallback();
        const response = await route.fetch();
        const body = await response.json();
        for (const token of body.data) if (token.name === "In use") token.lastUsedAt = new Date().toISOString();
        return route.fulfill({ response, json: body });
      },
    );
    await createToken(page, "In use");
    await page.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("button", { name: "Revoke In use" }).click();
    const dialog = page.getByRole("dialog", { name: "Revoke “In use”?" });
    await dialog.getByText("It was used in the last 24 hours").waitFor();
    const button = dialog.getByRole("button", { name: "Revoke token" });
    const typed = dialog.getByRole("textbox");
    assert.ok(await hasFocus(typed));
    assert.equal(await button.getAttribute("aria-disabled"), "true");
    await fits(page, "revoke a used token");
    await typed.fill("in use");
    await typed.press("Enter");
    assert.equal(await button.getAttribute("aria-disabled"), "true");
    await typed.fill("In use");
    await typed.press("Enter");
    await dialog.waitFor(); // Enter is not the button
    await button.click();
    await dialog.waitFor({ state: "detached" });
  });
});

test("confirmation after 30 minutes: the form stays, the request goes on", async () => {
  await open(async (page) => {
    await openTokens(page, kinora);
    const expire = await expireConfirmation(page);
    await fillForm(page, "After lunch", "Read-write");
    const dialog = confirmationOf(page);
    await dialog.waitFor();
    assert.ok(await hasFocus(dialog.getByLabel("Password", { exact: true })));
    await fits(page, "confirmation");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "After lunch");
    assert.equal(await page.getByRole("alert").filter({ hasText: /./ }).count(), 0, "cancelling is no error");

    expire();
    await page.getByRole("button", { name: "Create token" }).click();
    await dialog.getByLabel("Password", { exact: true }).fill("not the password at all");
    await page.keyboard.press("Enter");
    await dialog.locator(".problem").waitFor();
    await dialog.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.keyboard.press("Enter");
    await panelOf(page, "After lunch").waitFor();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "I have saved it" }).click();

    expire();
    await page.getByRole("button", { name: "Revoke After lunch" }).click();
    await page.getByRole("button", { name: "Revoke token" }).click();
    await dialog.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.keyboard.press("Enter");
    await toast(page, "Token revoked");
  });
});

test("leaving before the secret is saved asks", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    await page.getByRole("navigation", { name: "Organisation" }).getByRole("link", { name: "Access Tokens" }).click();
    await createToken(page, "Not saved");
    const leaving = leavingOf(page);
    const stay = leaving.getByRole("button", { name: "Stay" });

    await page.getByRole("link", { name: "Account" }).click();
    await leaving.waitFor();
    assert.ok(await hasFocus(stay));
    await fits(page, "leaving");
    await stay.click();
    await page.goBack();
    await stay.click();
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await stay.click();
    await panelOf(page, "Not saved").waitFor();
    const asked = page.waitForEvent("dialog");
    const reload = page.evaluate(() => location.reload());
    const native = await asked;
    assert.equal(native.type(), "beforeunload");
    await native.dismiss();
    await reload;
    await panelOf(page, "Not saved").waitFor();

    // The filters belong to the page: no question.
    await page.getByLabel("Permission", { exact: true }).selectOption("Read-only");
    assert.equal(new URL(page.url()).search, "?permission=read-only");
    assert.equal(await leaving.count(), 0);

    await page.goBack();
    await leaving.getByRole("button", { name: "Leave the page" }).click();
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();

    await page.getByRole("link", { name: "Access Tokens" }).click();
    await createToken(page, "Saved");
    await page.getByRole("button", { name: "Copy the secret" }).click();
    await toast(page, "Copied");
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    assert.equal(await leaving.count(), 0);
  });
});

test("secret is hidden, in no storage, and gone with the page", async () => {
  await open(async (page) => {
    await openTokens(page, kinora);
    const answer = page.waitForResponse((response) => response.request().method() === "POST" && response.url().endsWith(TOKENS_API));
    await createToken(page, "Secret");
    const { secret } = (await (await answer).json()).data;
    const panel = panelOf(page, "Secret");
    assert.ok(!(await page.content()).includes(secret), "hidden at first");
    await panel.getByRole("button", { name: "Show the secret" }).click();
    await panel.getByText(secret).waitFor();
    await fits(page, "new token with its secret");
    await panel.getByRole("button", { name: "Hide the secret" }).click();
    // A click beside the panel closes nothing.
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("Escape");
    await panel.waitFor();
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state]));
    assert.ok(!stored.includes(secret));
    await panel.getByRole("button", { name: "I have saved it" }).click();
    await panel.waitFor({ state: "detached" });
    await page.reload();
    await page.getByText("Secret", { exact: true }).waitFor();
    assert.ok(!(await page.content()).includes(secret));
  });
});

test("name changes in place; filters are part of the address", async () => {
  await open(async (page) => {
    await openTokens(page, kinora);
    await createToken(page, "Old name");
    await page.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("button", { name: "Rename Old name" }).click();
    const field = page.getByLabel("Name of the token");
    assert.ok(await hasFocus(field));
    await fits(page, "rename");
    await field.press("Escape");
    await page.getByRole("button", { name: "Rename Old name" }).click();
    await field.fill("New name");
    await field.press("Enter");
    await toast(page, "Token renamed");
    const pencil = page.getByRole("button", { name: "Rename New name" });
    await pencil.waitFor();
    assert.ok(await hasFocus(pencil), "the focus comes back");

    await page.getByLabel("Permission", { exact: true }).selectOption("Read-write");
    await page.getByText("New name").waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("table").waitFor();
    assert.equal(await page.getByText("New name").count(), 0);
    await page.goto(`${kinora.address}${TOKENS_PAGE}?permission=read-only`);
    await page.getByText("New name").waitFor();
  });
});

test("double click creates one token", async () => {
  await open(async (page) => {
    await openTokens(page, kinora);
    let created = 0;
    page.on("request", (request) => {
      if (request.method() === "POST" && new URL(request.url()).pathname.startsWith(TOKENS_API)) created += 1;
    });
    await page.getByRole("button", { name: "New token" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Clicked twice");
    await page.getByRole("button", { name: "Create token" }).dblclick();
    await panelOf(page, "Clicked twice").waitFor();
    assert.equal(created, 1);
  });
});
