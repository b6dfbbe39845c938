// What the tests of a file share: a server, a browser, and what else the file names.

import { after } from "node:test";
import { startBrowser } from "./browser.mjs";
import { withPage } from "./dashboard.mjs";
import { startKinora } from "./kinora.mjs";

/**
 * Starts a server, a browser, and the result of each function of `others` by its name. All of it stops after
 * the tests of the file. `options` are those of the server.
 *
 * `open(use, options)` opens a page of the server as `withPage` does.
 */
export async function start(others = {}, options = {}) {
  const begin = { browser: startBrowser, kinora: () => startKinora(options), ...others };
  const names = Object.keys(begin);
  const results = await Promise.allSettled(names.map((name) => begin[name]()));
  const started = names.flatMap((name, place) => (results[place].status === "fulfilled" ? [[name, results[place].value]] : []));
  const stop = async () => {
    for (const [, one] of started) await (one.stop ?? one.close ?? one.remove).call(one);
  };
  const failed = results.find(({ status }) => status === "rejected");
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  after(stop);
  const { browser, kinora, ...rest } = Object.fromEntries(started);
  return { browser, kinora, ...rest, open: (use, options) => withPage(browser, kinora.publicUrl, use, options) };
}
