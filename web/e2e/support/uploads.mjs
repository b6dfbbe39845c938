// The status of an upload, as JSON from its URL.

import { HANG_MS } from "./browser.mjs";

/** Waits until the server has stored bytes. */
export const kept = (url) => status(url, ({ keptBytes }) => keptBytes > 0, "nothing was kept");

/** Waits until the media can be played. */
export const ready = (url) => status(url, ({ isReady }) => isReady, "it is not ready");

async function status(url, isMet, otherwise) {
  const until = Date.now() + HANG_MS;
  for (;;) {
    const answer = await fetch(url, { headers: { accept: "application/json" } });
    const body = await answer.json();
    if (!answer.ok) throw new Error(`the address answered ${answer.status}: ${JSON.stringify(body)}`);
    if (isMet(body.data)) return body.data;
    if (Date.now() > until) throw new Error(`${otherwise}: ${JSON.stringify(body.data)}`);
  }
}
