// A real server with its own data, and requests to it.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { HANG_MS, PLAIN_HOST } from "./browser.mjs";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** The binary under test. */
export const BINARY = process.env.KINORA_BIN ?? join(ROOT, "target/debug/kinora");

const LOOK_EVERY_MS = 100;
/** How often another process may take the port before the server listens on it. */
const PORTS_MAX = 20;

/**
 * Starts a server with default settings plus access to the loopback. The caller stops it.
 *
 * `publicUrl` is its public URL, if that differs from its listen address, or a function of its port.
 */
export async function startKinora({ publicUrl } = {}) {
  return onFreePort((port) => startOn(port, publicUrl));
}

/** The same with a public URL that is plain HTTP at a network address, which only the browser resolves. */
export const startPlainKinora = () => startKinora({ publicUrl: (port) => `http://${PLAIN_HOST}:${port}` });

/**
 * Returns the result of `start` on a probably free port. Tries another port if the server cannot listen.
 *
 * The ports are below the ephemeral ports of Linux.
 */
export async function onFreePort(start) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start(20_000 + Math.floor(Math.random() * 12_000));
    } catch (error) {
      if (tries === PORTS_MAX || !error.message.includes("cannot listen on")) throw error;
    }
  }
}

async function startOn(port, publicUrl) {
  const data = await mkdtemp(join(tmpdir(), "kinora-e2e-"));
  const address = `http://127.0.0.1:${port}`;
  const publicAddress = typeof publicUrl === "function" ? publicUrl(port) : (publicUrl ?? address);
  const env = { ...process.env, KINORA_DATA_DIR: data, KINORA_LOG: process.env.KINORA_LOG ?? "warn" };
  if (publicUrl !== undefined) env.KINORA_PUBLIC_URL = publicAddress;
  let log = "";
  const launch = () => {
    const server = spawn(BINARY, ["serve", "--listen", `127.0.0.1:${port}`, "--allow-private", "127.0.0.0/8"], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const output of [server.stdout, server.stderr]) output.setEncoding("utf8").on("data", (text) => (log += text));
    return { server, ended: once(server, "exit"), closed: once(server, "close") };
  };
  let { server, ended, closed } = launch();
  const stop = async () => {
    if (server.exitCode === null) server.kill("SIGTERM");
    await ended;
    await rm(data, { recursive: true, force: true });
  };
  try {
    await answers(address, data, server);
    const token = await command("token", "create", "--workspace", "Development", "--permission", "read-write");
    const authorization = `Basic ${Buffer.from(`${token.id}:${token.secret}`).toString("base64")}`;
    return {
      address,
      port,
      /** The address that the server gives to browsers. */
      publicUrl: publicAddress,
      /** The folder of its database and objects. */
      data,
      stop,
      /** Ends the server as a power failure would. */
      async kill() {
        server.kill("SIGKILL");
        await ended;
      },
      /** Starts it again on the same port and data. */
      async start() {
        await rm(join(data, "addresses.json"), { force: true });
        ({ server, ended, closed } = launch());
        await answers(address, data, server);
      },
      log: () => log,
      /** Runs a command of the binary on the same data, and returns its JSON. */
      command,
      /** Creates a media, and waits until it is settled; `edits` are further fields of its video input. */
      create: (url, edits = {}) => create(address, authorization, url, edits),
      /** Creates a playlist of these media, and returns the URL of its manifest. */
      createPlaylist: (mediaIds) => createPlaylist(address, authorization, mediaIds),
      /** Creates a direct upload; `fields` are those of the request body. */
      createUpload: (fields = {}, path = "/v1/on-demand/upload") =>
        asker(address, authorization)(path, { method: "POST", body: JSON.stringify({ corsOrigin: "*", ...fields }) }),
      cancelUpload: (id) => asker(address, authorization)(`/v1/on-demand/upload/${id}/cancel`, { method: "PUT" }),
      /** Sends any request with the token, and returns `data`. */
      ask: asker(address, authorization),
      media: (id) => asker(address, authorization)(`/v1/on-demand/${id}`),
      /** SHA-256 of each stored source, in hexadecimal. */
      sources: () => digests(join(data, "objects/source")),
    };
  } catch (error) {
    if (server.exitCode !== null) await closed; // all its output has been read
    server.kill("SIGKILL");
    await stop();
    throw new Error(`${error.message}\n${log}`);
  }

  async function command(...args) {
    const { stdout } = await promisify(execFile)(BINARY, [...args, "--json"], { env });
    return JSON.parse(stdout);
  }
}

/** Sends API requests; rejects on any error response. */
function asker(address, authorization) {
  const headers = { authorization, "content-type": "application/json" };
  return async (path, request) => {
    const answer = await fetch(`${address}${path}`, { headers, ...request });
    const body = await answer.json();
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(body)}`);
    return body.data;
  };
}

async function digests(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(
    files.map(async ({ parentPath, path, name }) => {
      const hash = createHash("sha256");
      await pipeline(createReadStream(join(parentPath ?? path, name)), hash);
      return hash.digest("hex");
    }),
  );
}

/** Creates a public media from `url`. Returns it with its `manifest` when it is ready or has failed. */
async function create(address, authorization, url, edits) {
  const ask = asker(address, authorization);
  const body = JSON.stringify({ inputs: [{ type: "video", url, ...edits }], accessPolicy: "public" });
  const { id } = await ask("/on-demand", { method: "POST", body });
  const until = Date.now() + HANG_MS;
  for (;;) {
    const media = await ask(`/on-demand/${id}`);
    if (["Ready", "Failed"].includes(media.status)) {
      return { ...media, manifest: `${address}/${media.playbackIds[0].id}.m3u8` };
    }
    if (Date.now() > until) throw new Error(`${url} is still ${media.status} after ${HANG_MS} ms`);
    await sleep(LOOK_EVERY_MS);
  }
}

async function createPlaylist(address, authorization, mediaIds) {
  const ask = asker(address, authorization);
  const fields = { name: "Trial", referenceId: `${mediaIds.length} from ${mediaIds[0]}`, type: "manual" };
  const { id } = await ask("/v1/on-demand/playlists", { method: "POST", body: JSON.stringify(fields) });
  const request = { method: "PATCH", body: JSON.stringify({ mediaIds }) };
  await ask(`/v1/on-demand/playlists/${id}/media`, request);
  return `${address}/playlist/${id}.m3u8`;
}

/**
 * Waits until the server is ready. It writes `addresses.json` once it listens; before that, another process
 * may respond on the port.
 */
async function answers(address, data, server) {
  const until = Date.now() + HANG_MS;
  const listens = () => existsSync(join(data, "addresses.json"));
  for (;;) {
    if (listens() && (await fetch(`${address}/readyz`).then(({ ok }) => ok, () => false))) return;
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
    if (Date.now() > until) throw new Error(`${address} does not answer`);
    await sleep(LOOK_EVERY_MS);
  }
}
