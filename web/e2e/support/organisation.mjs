// Pages of the organisation in the dashboard.

import { PASSWORD } from "./dashboard.mjs";

export { toast } from "./dashboard.mjs";

/** Opens a page of the organisation by its name in the side bar. */
export async function openPage(page, name) {
  await page.getByRole("navigation", { name: "Organisation" }).getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

/** Clicks an entry of the menu of a person; `who` is the name, or the email without one. */
export async function choose(page, who, entry) {
  await page.getByRole("button", { name: `Actions: ${who}`, exact: true }).click();
  await page.getByRole("group", { name: `Actions: ${who}`, exact: true }).getByRole("button", { name: entry, exact: true }).click();
}

/** Invites a person by the page of people, and returns the link that it shows. */
export async function invite(page, email, role = "Member") {
  await page.getByRole("button", { name: "Invite a person" }).click();
  const panel = page.getByRole("region", { name: "Invite a person" });
  await panel.getByLabel("Email").fill(email);
  await panel.getByRole("radio", { name: role }).click();
  await panel.getByRole("button", { name: "Create the link" }).click();
  return shownLink(page, `Invitation link for ${email}`);
}

/** The link in the panel of this name, copied: the page asks nothing when it is left. */
export async function shownLink(page, panel) {
  const region = page.getByRole("region", { name: panel });
  const link = await region.locator("code").innerText();
  await region.getByRole("button", { name: "Copy the link" }).click();
  return link;
}

/** Uses an invitation in this page. */
export async function join(page, link, name) {
  await page.goto(link);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("New password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
}

/** The row of a table with this text. */
export function rowOf(page, text) {
  return page.getByRole("row").filter({ hasText: text });
}
