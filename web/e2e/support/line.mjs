// A TCP proxy between clients and a server. It can pause one connection after a number of bytes, disconnect
// all connections, and accept them again.

import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * Rate at which a paused connection forwards bytes, so that the server does not time out: 100 bytes in 10 s
 * are too slow.
 */
const DRIP_BYTES = 100;
const DRIP_EVERY_MS = 500;
/** Bytes read from the client for that. */
const STOCK_BYTES = 256 * 1024;

/**
 * Opens a proxy on a free port. It forwards nothing until `lead` sets a port of the loopback. The caller
 * closes it.
 */
export async function openLine() {
  let port = null;
  const pairs = new Set();
  let isCut = false;
  /** Number of client bytes until a connection is paused, and the function that is called then. */
  let left = Number.POSITIVE_INFINITY;
  let forwarded = 0;
  let onHeld = () => {};

  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (isCut || port === null) {
      client.on("error", () => {});
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const pair = { client, upstream, held: null, drip: null };
    pairs.add(pair);
    client.on("data", (bytes) => pass(pair, bytes));
    upstream.on("drain", () => pair.held === null && client.resume());
    upstream.on("data", (bytes) => client.write(bytes) || upstream.pause());
    client.on("drain", () => upstream.resume());
    for (const [end, other] of [[client, upstream], [upstream, client]]) {
      end.on("error", () => other.destroy());
      end.on("end", () => pair.held === null && other.end());
    }
    // After a client disconnects, the server receives nothing more; the last bytes of the server still
    // arrive.
    client.on("close", () => {
      pairs.delete(pair);
      clearInterval(pair.drip);
      upstream.destroy();
    });
    upstream.on("close", () => client.destroySoon());
  });

  const pass = (pair, bytes) => {
    if (pair.held !== null) {
      pair.held = Buffer.concat([pair.held, bytes]);
      if (pair.held.length >= STOCK_BYTES) pair.client.pause();
      return;
    }
    const now = bytes.subarray(0, left);
    left -= now.length;
    forwarded += now.length;
    if (now.length > 0 && !pair.upstream.write(now)) pair.client.pause();
    if (left > 0) return;
    left = Number.POSITIVE_INFINITY;
    pair.held = bytes.subarray(now.length);
    pair.drip = setInterval(() => {
      pair.upstream.write(pair.held.subarray(0, DRIP_BYTES));
      pair.held = pair.held.subarray(DRIP_BYTES);
    }, DRIP_EVERY_MS);
    pair.client.resume();
    onHeld(() => release(pair));
  };

  const release = (pair) => {
    clearInterval(pair.drip);
    const { held } = pair;
    pair.held = null;
    if (held === null || pair.upstream.destroyed) return;
    pair.upstream.write(held);
    pair.client.resume();
  };

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    /** Bytes of clients that were forwarded so far. */
    bytes: () => forwarded,
    /** New connections go to port `to` from now on. */
    lead(to) {
      port = to;
    },
    /**
     * Pauses the connection that forwards the last of this many more client bytes. Resolves after these
     * bytes, to the function that resumes the connection. Other connections are not paused.
     */
    hold(bytes) {
      left = bytes;
      return new Promise((resolve) => (onHeld = resolve));
    },
    /** Disconnects every connection and rejects new ones. */
    cut() {
      isCut = true;
      left = Number.POSITIVE_INFINITY;
      for (const { client, upstream } of pairs) {
        client.resetAndDestroy();
        upstream.destroy();
      }
    },
    /** Accepts connections again. */
    mend() {
      isCut = false;
      left = Number.POSITIVE_INFINITY;
    },
    async close() {
      this.cut();
      server.close();
      await once(server, "close");
    },
  };
}
