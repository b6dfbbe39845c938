// A line between a client and a server, of which a connection can be held up after so many bytes, and which can be cut and mended.

import { once } from "node:events";
import { connect, createServer } from "node:net";

/** What goes through a connection that is held, so that a server does not give the client up: 100 bytes in 10 s are too few. */
const DRIP_BYTES = 100;
const DRIP_EVERY_MS = 500;
/** What is taken from the client for that. */
const STOCK_BYTES = 256 * 1024;

/** Opens a line on a free port, which leads nowhere until `lead` names a port of loopback. The caller closes it. */
export async function openLine() {
  let port = null;
  const pairs = new Set();
  let isCut = false;
  /** How many more bytes of clients go through until a connection is held, and who is told. */
  let left = Number.POSITIVE_INFINITY;
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
    // Who goes away leaves nothing behind for the server; what the server said last still arrives.
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
    /** From now on connections go to `to`. */
    lead(to) {
      port = to;
    },
    /**
     * Holds up the connection whose client sends the last of so many more bytes. Resolves when they have gone, to what lets it go on;
     * the other connections are not held.
     */
    hold(bytes) {
      left = bytes;
      return new Promise((resolve) => (onHeld = resolve));
    },
    /** Breaks every connection and refuses new ones. */
    cut() {
      isCut = true;
      left = Number.POSITIVE_INFINITY;
      for (const { client, upstream } of pairs) {
        client.resetAndDestroy();
        upstream.destroy();
      }
    },
    /** Lets connections be made again. */
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
