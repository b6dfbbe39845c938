// A stand-in for the server: serves the built page, and clips that ffmpeg packaged.

import { execFile } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const DIST = fileURLToPath(new URL("../../dist/", import.meta.url));

/**
 * The strictest policy that the page works with. Inline styles are allowed because the controls have theirs
 * in shadow trees; inline scripts are not.
 */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".m3u8": "application/vnd.apple.mpegurl",
  ".m4s": "video/iso.segment",
  ".mp4": "video/mp4",
  ".vtt": "text/vtt",
};

/**
 * Starts the site on a free port of the loopback.
 *
 * `/embed/{clip}` is the page for `/media/{clip}/master.m3u8`. `answers` maps a path to a status, a body and
 * headers that replace a file; a test changes it while the page runs. `values` maps a clip to further values
 * of its page. `asked` lists the requests and their times.
 */
export async function startSite() {
  const folder = await mkdtemp(join(tmpdir(), "kinora-site-"));
  const template = await readFile(join(DIST, "embed.html"), "utf8");
  const answers = new Map();
  const asked = [];
  const values = new Map();

  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://site").pathname;
    asked.push({ path, at_ms: Date.now() });
    const embed = /^\/embed\/([\w-]+)$/.exec(path);
    if (answers.has(path)) {
      const { status, body, headers } = answers.get(path);
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
    } else if (embed) {
      const page = { manifest: `${address}/media/${embed[1]}/master.m3u8`, poster: null, title: null };
      const json = JSON.stringify({ ...page, ...values.get(embed[1]) }).replaceAll("<", "\\u003c");
      const html = template.replace("__KINORA__", () => json);
      response.writeHead(200, { "content-type": TYPES[".html"], "content-security-policy": POLICY }).end(html);
    } else if (path === "/favicon.ico") {
      response.writeHead(204).end();
    } else {
      const media = path.startsWith("/media/");
      await sendFile(media ? join(folder, path.slice("/media".length)) : join(DIST, path), response);
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const address = `http://127.0.0.1:${server.address().port}`;

  return {
    address,
    folder,
    answers,
    asked,
    values,
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function sendFile(path, response) {
  const found = await stat(path).catch(() => null);
  if (!found?.isFile()) {
    const body = { success: false, error: { code: 404, message: "Media/PlaybackId not Found", description: "" } };
    response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify(body));
    return;
  }
  response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" });
  createReadStream(path).pipe(response);
}

const run = promisify(execFile);

/** Runs ffmpeg in `folder`; `args` is one line, split at spaces. */
export async function ffmpeg(folder, args) {
  await run("ffmpeg", ["-nostdin", "-loglevel", "error", "-y", ...args.split(" ")], { cwd: folder });
}
