// Accounts in the dashboard of a real server: links, sign-in, the own account. Needs `make web`, the binary
// (`KINORA_BIN`, or target/debug/kinora) and Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPerson, PASSWORD, resetLink, setUp, setUpByLink, signIn, withPage } from "./support/dashboard.mjs";
import { startPlainKinora } from "./support/kinora.mjs";
import { start } from "./support/start.mjs";

const OTHER_PASSWORD = "seven lanterns above the bay";

const { kinora, browser, open } = await start();

/** Ends all sessions of a person but a new one, from another browser. */
async function endSessionsOf(email, password = PASSWORD) {
  await open(async (page) => {
    await page.goto(`${kinora.address}/dashboard/account`);
    await signIn(page, email, password);
    await page.getByRole("button", { name: "End all others" }).click();
    await page.getByRole("status").filter({ hasText: "All other sessions have ended" }).waitFor();
  });
}

test("without an account the page shows the command that makes one", async () => {
  await open(async (page) => {
    await page.goto(`${kinora.address}/`);
    await page.getByRole("heading", { name: "Make the first account" }).waitFor();
    assert.match(await page.getByRole("group", { name: "the command" }).innerText(), /^kinora user create --email \S+ --role administrator --data-dir \/\S+$/);
    assert.equal(await page.getByLabel("Password").count(), 0);
    assert.equal(new URL(page.url()).pathname, "/dashboard/sign-in");
  });
});

test("a tab of an earlier person saves nothing for the next one", async () => {
  await open(async (page, context) => {
    await setUp(kinora, page, { name: "First" });
    await page.goto(`${kinora.address}/dashboard/account`);
    await page.getByLabel("Name").fill("Changed by the first");
    const other = await context.newPage();
    await other.goto(`${kinora.address}/dashboard/account`);
    await other.getByRole("button", { name: /^Your menu/ }).click();
    await other.getByRole("button", { name: "Sign out" }).click();
    await other.waitForURL(/sign-in/);
    await setUpByLink(kinora, other, { role: "viewer", name: "Second" });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    await page.getByText("Second", { exact: true }).waitFor();
  });
});

test("scripts and styles arrive compressed, the font as it is", async () => {
  await open(async (page) => {
    const encodings = new Map();
    page.on("response", (response) => encodings.set(new URL(response.url()).pathname, response.headers()["content-encoding"]));
    await page.goto(`${kinora.address}/dashboard/sign-in`);
    await page.evaluate(() => document.fonts.ready);
    const texts = [...encodings].filter(([path]) => /\.(js|css)$|^\/dashboard\/sign-in$/.test(path));
    assert.ok(texts.length >= 3, `${[...encodings.keys()]}`);
    // The script of the library is one line, which compresses to more.
    for (const [path, encoding] of texts) assert.equal(encoding, /\/library-\w+\.js$/.test(path) ? undefined : "br", path);
    const fonts = [...encodings].filter(([path]) => path.endsWith(".woff2"));
    assert.deepEqual(fonts.map(([, encoding]) => encoding), [undefined]);
  });
});

test("setup link, account, sign out and sign in", async () => {
  await open(async (page) => {
    const { email, link } = await createPerson(kinora);
    await page.goto(link);
    await page.getByRole("heading", { name: "Set up your account" }).waitFor();
    assert.equal(page.url(), `${kinora.address}/dashboard/setup`, "the secret is not in the address bar");
    assert.equal(await page.getByLabel("Email").inputValue(), email);
    await page.getByLabel("Name").fill("Mara Lindqvist");
    await page.getByLabel("New password", { exact: true }).fill("password1234");
    await page.getByRole("button", { name: "Create the account" }).click();
    await page.locator(".problem").waitFor();
    assert.equal(await page.getByLabel("New password", { exact: true }).getAttribute("aria-invalid"), "true");
    assert.equal(await page.evaluate(() => document.activeElement.name), "new-password", "the focus is on the wrong field");
    await page.getByLabel("New password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Create the account" }).click();

    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    assert.match(new URL(page.url()).pathname, /^\/dashboard\/w\/[0-9a-f-]{36}\/library$/);
    await page.getByRole("group", { name: "the upload command" }).getByText("kinora upload talk.mp4 --workspace Development --wait").waitFor();

    await page.getByRole("link", { name: "Account" }).click();
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    await page.getByLabel("Name").fill("Mara Lind");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("status").filter({ hasText: "Name saved" }).waitFor();
    await page.getByText("This session").waitFor();

    await page.getByRole("button", { name: "Your menu: Mara Lind" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.goto(`${kinora.address}/dashboard/account`);
    await page.waitForURL("**/dashboard/sign-in?next=%2Fdashboard%2Faccount");
    await signIn(page, email.toUpperCase());
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), "Mara Lind");
  });
});

test("wrong password and unknown address get the same sentence", async () => {
  await open(async (page) => {
    const email = await setUp(kinora, page);
    await page.context().clearCookies();
    const sentences = [];
    for (const name of [email, "unknown@northlight.example"]) {
      await page.goto(`${kinora.address}/dashboard/sign-in`);
      await signIn(page, name, "not this one at all");
      sentences.push(await page.getByRole("alert").filter({ hasText: "wrong" }).innerText());
    }
    assert.equal(sentences[0], sentences[1]);
  });
});

test("too many attempts: the wait is counted down, then sign-in works", async () => {
  await open(async (page) => {
    const email = await setUp(kinora, page);
    await page.context().clearCookies();
    await page.goto(`${kinora.address}/dashboard/sign-in`);
    const waits = page.getByRole("button", { name: /^Try again in/ });
    const answers = page.getByRole("alert").filter({ hasText: /./ });
    for (let attempt = 1; attempt <= 8 && (await waits.count()) === 0; attempt += 1) {
      const answer = page.waitForResponse((response) => response.url().endsWith("/api/session") && response.request().method() === "POST");
      await signIn(page, email, `wrong password ${attempt}`);
      await answer;
      await answers.waitFor();
    }
    await waits.waitFor();
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    await signIn(page, email);
    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
  });
});

test("reset link sets a password, ends other sessions, works once", async () => {
  await open(async (page) => {
    const email = await setUp(kinora, page);
    const link = await resetLink(kinora, email);
    await open(async (other) => {
      await other.goto(link);
      await other.getByRole("heading", { name: "Choose a new password" }).waitFor();
      await other.getByLabel("New password", { exact: true }).fill(OTHER_PASSWORD);
      await other.getByRole("button", { name: "Set the password" }).click();
      await other.getByRole("heading", { level: 1, name: "Library" }).waitFor();

      await other.goto(link);
      await other.getByRole("heading", { name: "The link cannot be used any more" }).waitFor();
      assert.match(await other.getByRole("alert").innerText(), /used/);
    });
    await page.goto(`${kinora.address}/dashboard/account`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await signIn(page, email, OTHER_PASSWORD);
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
  });
});

test("incomplete and unknown links say how to get another", async () => {
  await open(async (page) => {
    await page.goto(`${kinora.address}/dashboard/reset`);
    await page.getByRole("heading", { name: "The link is not complete" }).waitFor();
    // The same document with another fragment: no load.
    await page.goto(`${kinora.address}/dashboard/reset#${"A".repeat(43)}`);
    await page.getByRole("heading", { name: "The link is not valid" }).waitFor();
    await page.getByText("kinora user reset EMAIL").waitFor();
    await page.getByRole("link", { name: "Go to the sign-in page" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });
});

test("session that ends under a full form: sign in above it, save goes on", async () => {
  await open(async (page) => {
    const email = await setUp(kinora, page);
    await page.getByRole("link", { name: "Account" }).click();
    await endSessionsOf(email);
    await page.getByLabel("Name").fill("Typed before the end");
    await page.getByLabel("Current password").fill("half a passw");
    await page.getByRole("button", { name: "Save" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.waitFor();
    assert.equal(await dialog.getByLabel("Email").inputValue(), email);
    assert.equal(await page.evaluate(() => document.activeElement.name), "password");
    await signIn(dialog, email);
    await page.getByRole("status").filter({ hasText: "Name saved" }).waitFor();
    await dialog.waitFor({ state: "detached" });
    assert.equal(await page.getByLabel("Name").inputValue(), "Typed before the end");
    assert.equal(await page.getByLabel("Current password").inputValue(), "half a passw", "other fields stay as they are");
    await page.getByRole("button", { name: "Your menu: Typed before the end" }).waitFor();
  });
});

test("another person in that dialog gets a fresh page", async () => {
  await open(async (page) => {
    const first = await setUp(kinora, page, { name: "First Person" });
    let second;
    await open(async (other) => (second = await setUp(kinora, other, { name: "Second Person" })));
    await page.getByRole("link", { name: "Account" }).click();
    await endSessionsOf(first);
    await page.getByLabel("Name").fill("A name of the first");
    await page.getByRole("button", { name: "Save" }).click();
    await signIn(page.getByRole("dialog", { name: "Sign in again" }), second);
    await page.getByRole("button", { name: "Your menu: Second Person" }).waitFor();
    await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
  });
});

test("new password: wrong one is a field error, the right one ends others", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByLabel("Current password").fill("not the password");
    await page.getByLabel("New password", { exact: true }).fill(OTHER_PASSWORD);
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.locator(".problem").waitFor();
    assert.equal(await page.getByLabel("Current password").getAttribute("aria-invalid"), "true");
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByRole("status").filter({ hasText: "Password changed" }).waitFor();
    assert.equal(await page.getByLabel("New password", { exact: true }).inputValue(), "");
  });
});

test("`next` leads to pages of the dashboard only", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    for (const next of ["https://example.com/", "//example.com/", "/\\example.com", "/v1/on-demand", "/dashboard//example.com"]) {
      await page.goto(`${kinora.address}/dashboard/sign-in?next=${encodeURIComponent(next)}`);
      await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    }
    await page.goto(`${kinora.address}/dashboard/sign-in?next=${encodeURIComponent("/dashboard/account?a=b")}`);
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    assert.equal(new URL(page.url()).search, "?a=b");
  });
});

test("viewer sees no commands that add media", async () => {
  await open(async (page) => {
    await setUp(kinora, page, { role: "viewer" });
    await page.getByText("Your role does not allow you to add any").waitFor();
    assert.equal(await page.getByRole("group", { name: "the request" }).count(), 0);
  });
});

test("plain HTTP on a network address: sign-in and copy work", async () => {
  const plain = await startPlainKinora();
  try {
    await withPage(browser, plain.publicUrl, async (page) => {
      const email = await setUp(plain, page);
      assert.equal(await page.evaluate(() => isSecureContext), false);
      await page.getByRole("region", { name: "Connection" }).getByText("plain HTTP").waitFor();
      await page.getByRole("button", { name: "Copy API base URL" }).click();
      await page.getByRole("status").filter({ hasText: "Copied" }).waitFor();
      await page.getByRole("link", { name: "Account" }).click();
      await page.getByLabel("Name").fill("");
      await page.getByLabel("Name").press("Control+V");
      assert.equal(await page.getByLabel("Name").inputValue(), `${plain.publicUrl}/v1`);

      await page.getByRole("button", { name: /^Your menu/ }).click();
      await page.getByRole("button", { name: "Sign out" }).click();
      await signIn(page, email);
      await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
    });
    // The same server at another address than its public one.
    await withPage(browser, plain.address, async (page) => {
      await page.goto(`${plain.address}/dashboard/sign-in`);
      const link = page.getByRole("alert").getByRole("link", { name: "Open it there" });
      assert.equal(await link.getAttribute("href"), `${plain.publicUrl}/dashboard/sign-in`);
    });
  } finally {
    await plain.stop();
  }
});

test("response that cannot be read is named with its request", async () => {
  await open(async (page) => {
    await setUp(kinora, page);
    await page.route(/\/on-demand\?/, (route) => route.fulfill({ headers: { "x-request-id": "unread-1" }, contentType: "text/html", body: "<p>Sign in to the network" }));
    await page.reload();
    await page.getByText("The response of the server cannot be read.").waitFor();
    await page.getByText("Request unread-1", { exact: true }).waitFor();
    assert.equal(await page.getByText("Error 0").count(), 0);
  });
});
