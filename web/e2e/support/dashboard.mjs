// People and pages of the dashboard.

import assert from "node:assert/strict";

export const PASSWORD = "quiet harbour lantern seven";

/** What Chromium writes to the console as an error and is none. */
const EXPECTED = [
  /^Failed to load resource: the server responded with a status of 4\d\d/,
  /^The Cross-Origin-Opener-Policy header has been ignored, because the URL's origin was untrustworthy/,
  /^Clear-Site-Data header on '[^']*': Not supported for insecure origins/,
];

/** The same of requests without a response, and of gateways without a server. */
const LOST = /^Failed to load resource: (net::ERR_|the server responded with a status of 50[2347])/;

let people = 0;

/** Creates a person by command. Returns the email and the link that sets up the account. */
export async function createPerson(kinora, role = "administrator") {
  people += 1;
  const email = `person-${people}@northlight.example`;
  const { link } = await kinora.command("user", "create", "--email", email, "--role", role);
  return { email, link: link.url };
}

/** Creates a link by command that sets a new password. */
export async function resetLink(kinora, email) {
  const { link } = await kinora.command("user", "reset", email);
  return link.url;
}

/**
 * Creates a person and signs in with the link, by requests. Returns the email.
 *
 * The first test of `dashboard.test.mjs` does the same by the page, which takes longer.
 */
export async function enter(kinora, context, { role = "administrator", name = "Mara Lindqvist" } = {}) {
  const { email, link } = await createPerson(kinora, role);
  const { origin, hash } = new URL(link);
  // By the loopback: only the browser resolves `PLAIN_HOST`.
  const answer = await fetch(`http://127.0.0.1:${kinora.port}/dashboard/api/links/use`, {
    method: "POST",
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ secret: hash.slice(1), name, password: PASSWORD }),
  });
  assert.equal(answer.status, 201, await answer.text());
  const [cookie, value] = answer.headers.get("set-cookie").split(";")[0].split("=");
  await context.addCookies([{ name: cookie, value, url: origin, httpOnly: true, sameSite: "Strict" }]);
  return email;
}

/** The same, then opens the library in this page. */
export async function setUp(kinora, page, person) {
  const email = await enter(kinora, page.context(), person);
  await page.goto(`${kinora.publicUrl}/dashboard/`);
  await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
  return email;
}

/** Creates a person, and uses the link in this page. */
export async function setUpByLink(kinora, page, { role = "administrator", name = "Mara Lindqvist" } = {}) {
  const { email, link } = await createPerson(kinora, role);
  await page.goto(link);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("New password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Create the account" }).click();
  await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
  return email;
}

/** Fills the sign-in form of `place`, a page or a dialog. */
export async function signIn(place, email, password = PASSWORD) {
  await place.getByLabel("Email").fill(email);
  await place.getByLabel("Password", { exact: true }).fill(password);
  await place.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Waits for a short message. */
export const toast = (page, message) => page.getByRole("status").filter({ hasText: message }).waitFor();

/**
 * Opens a page of its own and passes it to `use`, as `(page, context)`.
 *
 * Fails if it has an error on the console, breaks the policy or sends a request to another origin. Chromium
 * writes responses of 4xx to the console, which are part of the protocol here, and headers that it ignores
 * over plain HTTP. With `mayLoseConnections` requests may also fail without a response.
 */
export async function withPage(browser, address, use, { mayLoseConnections = false, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const errors = [];
  const elsewhere = [];
  try {
    await context.exposeBinding("reportViolation", (_source, text) => errors.push(text));
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) =>
        window.reportViolation(`${violatedDirective} ${blockedURI} ${sample}`),
      );
    });
    context.on("page", (page) => {
      page.on("pageerror", (error) => errors.push(String(error)));
      page.on("console", (message) => {
        const expected = mayLoseConnections ? [...EXPECTED, LOST] : EXPECTED;
        const isExpected = expected.some((pattern) => pattern.test(message.text()));
        if (message.type() === "error" && !isExpected) errors.push(message.text());
      });
    });
    context.on("request", (request) => {
      const isHere = [`${address}/`, `blob:${address}/`, "data:"].some((start) => request.url().startsWith(start));
      if (!isHere) elsewhere.push(request.url());
    });
    await use(await context.newPage(), context);
    assert.deepEqual(errors, [], "an error on the console, or a breach of the policy");
    assert.deepEqual(elsewhere, [], "a request to another origin");
  } finally {
    await context.close();
  }
}
