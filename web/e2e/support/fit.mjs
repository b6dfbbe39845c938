// Checks of a page for all people: widths, light and dark, axe.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const WIDTHS = [360, 768, 1280];

/**
 * The rules of axe that depend on the colour scheme. All others judge elements, names and sizes, which are
 * the same in both: they run in light alone.
 */
const RULES_OF_COLOURS = ["color-contrast", "link-in-text-block"];

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Checks the page as it is: no sideways scrolling at any width, and nothing that axe finds. */
export async function fits(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 860 });
      const what = `${name}, ${width} px, ${colorScheme}`;
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${what}: the page is ${wide} px wide`);
      assert.deepEqual(await violationsOf(page, colorScheme === "light" ? null : RULES_OF_COLOURS), [], what);
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 });
}

/** What axe finds in the page by these rules, or by all of its rules. */
async function violationsOf(page, rules) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  return page.evaluate(async (rules) => {
    const { violations } = await window.axe.run(document, { preload: false, resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("\n")}`);
  }, rules);
}

/** Presses Tab until this element has the focus. */
export async function tabTo(page, locator) {
  for (let presses = 0; presses < 60; presses += 1) {
    if (await hasFocus(locator)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${locator}`);
}

export function hasFocus(locator) {
  return locator.evaluate((element) => element === document.activeElement);
}
