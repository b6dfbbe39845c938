// Media for tests of the dashboard, and their page.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { HANG_MS } from "./browser.mjs";
import { enter } from "./dashboard.mjs";
import { ffmpeg } from "./site.mjs";

const LOOK_EVERY_MS = 50;
/** Seconds of the clip. */
export const CLIP_S = 4;

/** A title with everything that a page must show as it is. */
export const HOSTILE_TITLE = `<img src=x onerror=alert(1)> \u202Eabc\u202C & "quotes"`;

/** Makes `clip.mp4`, `open-gop.mp4`, `tone.m4a` and the web page `page.mp4`. The caller removes them. */
export async function makeFiles() {
  const folder = await mkdtemp(join(tmpdir(), "kinora-media-"));
  const video = `-f lavfi -i testsrc2=s=640x360:r=24:d=${CLIP_S} -c:v libx264 -preset ultrafast -g 24 -pix_fmt yuv420p`;
  const audio = `-f lavfi -i sine=f=440:r=48000:d=${CLIP_S}`;
  await ffmpeg(folder, `${audio} -c:a aac tone.m4a`);
  await ffmpeg(folder, `${audio} ${video} -c:a aac -movflags +faststart clip.mp4`);
  await ffmpeg(folder, `${video} -x264-params open-gop=1:keyint=24:min-keyint=24:bframes=3:b-adapt=0:scenecut=0 open-gop.mp4`);
  await writeFile(join(folder, "page.mp4"), "<!doctype html><title>No video</title>");
  return { file: (name) => join(folder, name), remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Uploads a file, and returns the media when it is ready or has failed. No other media has its title. */
export async function uploadFile(kinora, path, title, accessPolicy = "public") {
  const { url } = await kinora.createUpload({ pushMediaSettings: { title, accessPolicy } });
  const answer = await fetch(url, { method: "PUT", body: await readFile(path) });
  if (!answer.ok) throw new Error(`the upload answered ${answer.status}: ${await answer.text()}`);
  for (const until = Date.now() + HANG_MS; Date.now() < until; await sleep(LOOK_EVERY_MS)) {
    const found = (await kinora.ask("/v1/on-demand?limit=10")).find((media) => media.title === title);
    if (found !== undefined && ["Ready", "Failed"].includes(found.status)) return kinora.media(found.id);
  }
  throw new Error(`${title} is not settled after ${HANG_MS} ms`);
}

/** The address of the page of a media. */
export function pagePath({ workspaceId, id }, tab = "") {
  return `/dashboard/w/${workspaceId}/media/${id}${tab === "" ? "" : `/${tab}`}`;
}

/** Opens the page of a media as a new person. */
export async function openMedia(page, kinora, media, { tab = "", ...person } = {}) {
  await enter(kinora, page.context(), person);
  await goTo(page, kinora, media, tab);
}

export async function goTo(page, kinora, media, tab = "") {
  await page.goto(kinora.address + pagePath(media, tab));
  await page.getByRole("navigation", { name: "This media" }).waitFor();
}

/** The video of the player on the page of a media. */
export const playerOf = (page) => page.frameLocator("iframe.player").locator("video");

/** Changes a media by the API, as another person would. */
export function change(kinora, { id }, body, path = "") {
  return kinora.ask(`/v1/on-demand/${id}${path}`, { method: "PATCH", body: JSON.stringify(body) });
}

/** Serves `answer(path)` on a free port of the loopback: a receiver of webhooks, or a file. */
export async function startReceiver(answer) {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const { status = 200, type = "text/plain", body = "" } = answer(request.url);
      response.writeHead(status, { "content-type": type }).end(body);
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
