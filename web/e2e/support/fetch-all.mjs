// Requests every playlist and every segment of a stream, without playing it.

import { setTimeout as sleep } from "node:timers/promises";

/** Number of requests for a segment while the server is busy. */
const TRIES_MAX = 300;

/**
 * Requests each of them once, so that the server makes everything that is made on demand. Returns the number
 * of segments.
 *
 * Retries a busy server after its Retry-After; rejects on any other error.
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

/** The URLs in a playlist: lines, and URI attributes of tags. */
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
