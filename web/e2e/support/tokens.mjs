// The page of access tokens.

import { readFile } from "node:fs/promises";
import { enter } from "./dashboard.mjs";

export { toast } from "./dashboard.mjs";

export const TOKENS_PAGE = "/dashboard/organisation/access-tokens";
/** The operations of the page. */
export const TOKENS_API = "/dashboard/api/access-tokens";

/** Whether a URL is the list of tokens, to replace its answer. */
export const isTokenList = (url) => url.pathname === TOKENS_API;

/** Opens the page as a new administrator. */
export async function openTokens(page, server) {
  await enter(server, page.context());
  await page.goto(`${server.publicUrl}${TOKENS_PAGE}`);
  await page.getByRole("heading", { level: 1, name: "Access Tokens" }).waitFor();
  await page.getByRole("table").waitFor();
}

/** Fills the form of a new token and sends it. */
export async function fillForm(page, name, permission = "Read-only") {
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByRole("radio", { name: permission }).click();
  await page.getByRole("button", { name: "Create token" }).click();
}

export async function createToken(page, name, permission) {
  await fillForm(page, name, permission);
  await panelOf(page, name).waitFor();
}

export const panelOf = (page, name) => page.getByRole("region", { name: `“${name}” is active. Save its secret now.` });

/** Downloads the file of this button and returns its name and text. */
export async function downloaded(page, button) {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: button, exact: true }).click();
  const file = await download;
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
}
