// A library that a test makes up: the requests of the page are answered from a list in memory.

import assert from "node:assert/strict";

const PAGE = /\/dashboard\/api\/workspaces\/[^/]+\/on-demand(\?|$)/;
const ONE = /\/dashboard\/api\/workspaces\/[^/]+\/on-demand\/([0-9a-f-]{36})$/;
const IMAGE = /\/dashboard\/api\/workspaces\/[^/]+\/media\/[^/]+\/picture\.jpg/;
/** A grey pixel. */
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==", "base64");
const BEGIN_MS = Date.UTC(2026, 10, 1);

/** A media as the API sends it; a higher number is newer. */
export function madeUpMedia(number, fields = {}) {
  const createdAt = new Date(BEGIN_MS + number * 60_000).toISOString();
  return {
    id: `01980000-0000-7000-8000-${String(number).padStart(12, "0")}`,
    workspaceId: "",
    title: `Media ${number}`,
    status: "Ready",
    metadata: {},
    duration: "00:01:07",
    aspectRatio: "16:9",
    isAudioOnly: false,
    subtitleAvailable: false,
    sourceAccess: false,
    sourceResolution: "1080p",
    maxResolution: "1080p",
    mediaQuality: "standard",
    playbackIds: [],
    tracks: [],
    thumbnail: null,
    createdAt,
    updatedAt: createdAt,
    ...fields,
  };
}

/** So many, newest first; `fieldsOf` returns further fields of each number. */
export function many(count, fieldsOf = () => ({})) {
  return Array.from({ length: count }, (_, place) => madeUpMedia(count - place, fieldsOf(count - place)));
}

/**
 * Answers the requests of the library with `media`, newest first; the test changes the list. Returns the
 * requests that were made, as `{ method, path, query, body }`.
 */
export async function makeUpLibrary(page, media) {
  const asked = [];
  const workspaceOf = (url) => /workspaces\/([^/]+)/.exec(url)[1];
  const note = (request) => {
    const url = new URL(request.url());
    asked.push({ method: request.method(), path: url.pathname, query: url.searchParams, body: request.postDataJSON() });
  };
  await page.route(PAGE, async (route, request) => {
    note(request);
    const url = new URL(request.url());
    const title = url.searchParams.get("title")?.toLowerCase();
    const status = url.searchParams.get("status");
    const matching = media.filter((entry) => (!title || entry.title?.toLowerCase().startsWith(title)) && (!status || entry.status === status));
    const limit = Number(url.searchParams.get("limit"));
    const cursor = url.searchParams.get("cursor");
    const begin = cursor === null ? 0 : matching.findIndex(({ id }) => id === cursor);
    const data = matching.slice(begin, begin + limit).map((entry) => ({ ...entry, workspaceId: workspaceOf(url.pathname) }));
    const next = matching[begin + limit];
    const headers = next === undefined ? {} : { link: `<${url.origin}/v1/on-demand?limit=${limit}&cursor=${next.id}>; rel="next"` };
    await route.fulfill({ headers, json: { success: true, data, pagination: { totalRecords: matching.length, currentOffset: 1, offsetCount: 1 } } });
  });
  await page.route(ONE, async (route, request) => {
    note(request);
    const id = ONE.exec(new URL(request.url()).pathname)[1];
    const place = media.findIndex((entry) => entry.id === id);
    if (place === -1) return route.fulfill({ status: 404, json: { success: false, error: { code: 404, message: "media not found", description: "no such media" } } });
    if (request.method() === "DELETE") media.splice(place, 1);
    if (request.method() === "PATCH") media[place] = { ...media[place], ...request.postDataJSON() };
    return route.fulfill({ headers: { etag: '"1"' }, json: { success: true, data: { ...media[place], workspaceId: workspaceOf(request.url()) } } });
  });
  await page.route(IMAGE, (route) => route.fulfill({ contentType: "image/png", body: PIXEL }));
  return asked;
}

/** Waits for a few frames: an observer, or a layout that follows another, reports in a later one. */
export const fewFrames = (page) =>
  page.evaluate(async () => {
    for (let left = 4; left > 0; left -= 1) await new Promise(requestAnimationFrame);
  });

export const items = (page) => page.getByRole("list", { name: "Media" }).getByRole("listitem");

/** The entry with this title. */
export function entryOf(page, title) {
  return page.getByRole("list", { name: "Media" }).getByRole("listitem").filter({ has: page.getByRole("heading", { name: title, exact: true }) });
}

/** Opens the library of the workspace with these filters, and waits for its first entry. */
export async function openLibrary(page, address, query = "") {
  await page.goto(`${address}/dashboard/`);
  await page.waitForURL(/\/w\/[^/]+\/library/);
  if (query !== "") await page.goto(`${page.url().split("?")[0]}?${query}`);
  await page.getByRole("heading", { level: 1, name: "Library" }).waitFor();
  await page.getByRole("list", { name: "Media" }).getByRole("listitem").first().waitFor();
}

/** Selects these entries by their titles. */
export async function select(page, ...titles) {
  for (const title of titles) {
    await entryOf(page, title).hover();
    await page.getByRole("checkbox", { name: `Select: ${title}`, exact: true }).click();
  }
}

export async function assertSelected(page, count) {
  await page.getByRole("region", { name: "Selection" }).getByText(`${count.toLocaleString("en-GB")} selected`, { exact: true }).waitFor();
  assert.equal(await page.getByRole("list", { name: "Media" }).getByRole("checkbox", { checked: true }).count(), count);
}
