// Every playlist and every segment of a stream, as a client that plays nothing fetches them.

import { setTimeout as sleep } from "node:timers/promises";

/** How often a segment is asked for that a busy server puts off. */
const TRIES_MAX = 300;

/**
 * Fetches each of them once, so that all is made that is made on demand, and answers how many segments there are.
 *
 * A server may say that it is busy, and when to come again; whatever else it refuses rejects.
 */
export async function fetchAll(manifest) {
  const text = await (await get(manifest)).text();
  let segments = 0;
  for (const playlist of addresses(text, manifest)) {
    for (const part of addresses(await (await get(playlist)).text(), playlist)) {
      await (await get(part)).arrayBuffer();
      segments += 1;
    }
  }
  return segments;
}

/** What a playlist names: in lines of their own, and as URI of a tag. */
function addresses(playlist, base) {
  const named = [...playlist.matchAll(/^[^#\s].*$|\bURI="([^"]+)"/gm)].map(([line, uri]) => new URL(uri ?? line, base).href);
  return new Set(named);
}

async function get(address) {
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch(address);
    if (answer.ok) return answer;
    const body = await answer.text();
    if (answer.status !== 503 || tries === TRIES_MAX) throw new Error(`${address} answered ${answer.status}: ${body}`);
    await sleep(1_000 * Number(answer.headers.get("retry-after") ?? 1));
  }
}
