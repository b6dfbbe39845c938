// Third-party upload clients in Node and in Chromium, on a real server: tus-js-client with its three
// protocols, and the web uploader. Needs the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and
// Chromium.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import * as tus from "tus-js-client";
import { startBrowser } from "./support/browser.mjs";
import { makeFiles } from "./support/files.mjs";
import { startKinora } from "./support/kinora.mjs";
import { openLine } from "./support/line.mjs";
import { kept, ready } from "./support/uploads.mjs";

const MB = 1_000_000;
const MODULES = fileURLToPath(new URL("../node_modules/", import.meta.url));

/** Names of the protocols in tus-js-client. Its drafts 03 and 05 are the interop versions 5 and 6. */
const DIALECTS = ["tus-v1", "ietf-draft-03", "ietf-draft-05"];

let files;
let line;
let kinora;
let browser;
let site;

before(async () => {
  files = await makeFiles();
  line = await openLine();
  kinora = await startKinora({ publicUrl: line.address });
  line.lead(kinora.port);
  browser = await startBrowser();
  site = await startShop();
});

after(async () => {
  await browser?.close();
  await site?.stop();
  await line?.close();
  await kinora?.stop();
  await files?.remove();
});

/**
 * Environments of tus-js-client. Each passes `body` a function that sends a clip with options and returns
 * the result.
 */
const PLACES = {
  Node: (body) => body((clip, options) => sendByTus(tus, clip.bytes, options)),
  Chromium: (body) =>
    inShop(async (page) => {
      await page.addScriptTag({ url: "/tus.js" });
      await page.addScriptTag({ content: String(sendByTus) });
      await body(async (clip, options) => {
        await page.setInputFiles("input", clip.path);
        return page.evaluate((options) => sendByTus(window.tus, document.querySelector("input").files[0], options), options);
      });
    }),
};

for (const [place, runIn] of Object.entries(PLACES)) {
  for (const protocol of DIALECTS) {
    const who = `tus-js-client in ${place}, ${protocol}`;

    test(`${who}: one request uploads a file`, async () => {
      await runIn(async (send) => {
        const { clip, url } = await prepare(3 * MB);
        const { error, requests } = await send(clip, { protocol, endpoint: url });
        assert.equal(error, null);
        assert.deepEqual(requests, [["POST", null], ["PATCH", 0]]);
        await assertArrived(clip, url);
      });
    });

    test(`${who}: creation request can contain the file`, async () => {
      await runIn(async (send) => {
        const { clip, url } = await prepare(3 * MB);
        const { error, requests } = await send(clip, { protocol, endpoint: url, uploadDataDuringCreation: true });
        assert.equal(error, null);
        assert.deepEqual(requests, [["POST", null]]);
        await assertArrived(clip, url);
      });
    });

    test(`${who}: chunks upload a file`, async () => {
      await runIn(async (send) => {
        const { clip, url } = await prepare(3 * MB + 1);
        const { error, requests } = await send(clip, { protocol, endpoint: url, chunkSize: MB });
        assert.equal(error, null);
        assert.deepEqual(requests, [["POST", null], ...[0, 1, 2, 3].map((piece) => ["PATCH", piece * MB])]);
        await assertArrived(clip, url);
      });
    });

    test(`${who}: deferred length is accepted with the last chunk`, async () => {
      await runIn(async (send) => {
        const { clip, url } = await prepare(3 * MB + 1);
        const { error } = await send(clip, { protocol, endpoint: url, chunkSize: MB, uploadLengthDeferred: true });
        assert.equal(error, null);
        await assertArrived(clip, url);
      });
    });

    test(`${who}: another client resumes by the URL alone`, async () => {
      await runIn(async (send) => {
        const { clip, url } = await prepare(8 * MB);
        const held = line.hold(3 * MB);
        const broken = send(clip, { protocol, endpoint: url });
        await held;
        await kept(url);
        line.cut();
        assert.notEqual((await broken).error, null);
        line.mend();
        const { error, requests } = await send(clip, { protocol, uploadUrl: url });
        assert.equal(error, null);
        assert.deepEqual(requests.map(([method]) => method), ["HEAD", "PATCH"]);
        assert.ok(requests[1][1] > 0, "it is not begun anew");
        await assertArrived(clip, url);
      });
    });

    test(`${who}: another protocol resumes the upload`, async () => {
      await runIn(async (send) => {
        const { clip, url } = await prepare(8 * MB);
        const held = line.hold(3 * MB);
        const broken = send(clip, { protocol, endpoint: url });
        await held;
        await kept(url);
        line.cut();
        await broken;
        line.mend();
        const other = DIALECTS[(DIALECTS.indexOf(protocol) + 1) % DIALECTS.length];
        const { error } = await send(clip, { protocol: other, uploadUrl: url });
        assert.equal(error, null);
        await assertArrived(clip, url);
      });
    });
  }

  test(`tus-js-client in ${place}: parallel parts are rejected and store nothing`, async () => {
    await runIn(async (send) => {
      const { clip, url } = await prepare(3 * MB);
      const { error } = await send(clip, { endpoint: url, parallelUploads: 2 });
      assert.match(error, /the tus extension concatenation is not supported/);
      const { data } = await (await fetch(url, { headers: { accept: "application/json" } })).json();
      assert.deepEqual([data.status, data.keptBytes, data.sizeBytes], ["waiting", 0, undefined]);
      const whole = await send(clip, { endpoint: url });
      assert.equal(whole.error, null, "the address is still good for the whole");
      await assertArrived(clip, url);
    });
  });
}

test("the web uploader: paused upload in chunks completes", async () => {
  await inShop(async (page) => {
    const { clip, url } = await prepare(12 * MB);
    await page.setInputFiles("input", clip.path);
    const held = line.hold(7 * MB);
    const sent = sendByUploader(page, url);
    const release = await held;
    // The running chunk completes before the pause.
    await expectEvent(page, "chunkSuccess");
    await page.evaluate(() => window.uploader.pause());
    release();
    assert.equal((await page.evaluate(() => window.expected)).uploadedChunks, 2);
    await page.evaluate(() => window.uploader.resume());
    assert.deepEqual(await sent, "success");
    await assertArrived(clip, url);
  });
});

test("the web uploader: upload survives a lost connection within a chunk", async () => {
  await inShop(async (page) => {
    const { clip, url } = await prepare(12 * MB);
    await page.setInputFiles("input", clip.path);
    const held = line.hold(7 * MB);
    const sent = sendByUploader(page, url);
    await held;
    await expectEvent(page, "chunkAttemptFailure");
    line.cut();
    await page.evaluate(() => window.expected);
    line.mend();
    assert.deepEqual(await sent, "success");
    await assertArrived(clip, url);
  });
});

test("the web uploader: text file is rejected", async () => {
  await inShop(async (page) => {
    const { url } = await kinora.createUpload();
    await page.setInputFiles("input", await files.of("text.mp4", Buffer.from("This is no film.\n".repeat(400_000))));
    assert.match(await sendByUploader(page, url), /"statusCode":422/);
  });
});

/** A clip, and the URL of an upload. */
async function prepare(size) {
  const { url } = await kinora.createUpload();
  return { url, clip: await files.clip(`${url.slice(-12)}.mp4`, size) };
}

/** Asserts that the media is ready and that its source equals the file byte for byte. */
async function assertArrived(clip, url) {
  await ready(url);
  assert.ok((await kinora.sources()).includes(clip.digest), "what is kept is not what was sent");
}

/**
 * Sends by tus-js-client; returns its requests with their offsets, and its error. Also runs in the browser.
 */
function sendByTus(tus, file, options) {
  return new Promise((done) => {
    const requests = [];
    const upload = new tus.Upload(file, {
      retryDelays: null,
      storeFingerprintForResuming: false,
      ...options,
      onBeforeRequest(request) {
        const offset = request.getHeader("Upload-Offset");
        requests.push([request.getMethod(), offset === undefined ? null : Number(offset)]);
      },
      onSuccess: () => done({ requests, error: null }),
      onError: (error) => done({ requests, error: String(error) }),
    });
    upload.start();
  });
}

/** Sends the file of the page's field by the web uploader; returns "success" or the error. */
function sendByUploader(page, url) {
  return page.evaluate(async (endpoint) => {
    const { Uploader } = await import("/uploader.js");
    const [file] = document.querySelector("input").files;
    window.uploader = Uploader.init({ endpoint, file, chunkSize: 5_120 });
    return new Promise((done) => {
      window.uploader.on("success", () => done("success"));
      window.uploader.on("error", ({ detail }) => done(JSON.stringify(detail)));
    });
  }, url);
}

/** Sets `window.expected` to a promise of the next event of this name. */
async function expectEvent(page, name) {
  await page.evaluate((name) => {
    window.expected = new Promise((resolve) => window.uploader.on(name, ({ detail }) => resolve(detail)));
  }, name);
}

/** A page of another site, with a file field. */
async function inShop(body) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(site.address);
    await body(page);
  } finally {
    line.mend();
    await context.close();
  }
}

async function startShop() {
  const scripts = {
    "/tus.js": await readFile(`${MODULES}tus-js-client/dist/tus.min.js`),
    "/uploader.js": await readFile(`${MODULES}@fastpix/resumable-uploads/dist/uploads.mjs`),
  };
  const server = createServer(({ url }, response) => {
    const script = scripts[url];
    response.writeHead(200, { "content-type": script === undefined ? "text/html" : "text/javascript" });
    response.end(script ?? "<!doctype html><title>A shop</title><input type=file>");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
