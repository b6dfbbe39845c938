// The page of a direct upload on a real server, behind a proxy that can pause and disconnect connections.
// Needs `make web`, the binary (`KINORA_BIN`, or target/debug/kinora), ffmpeg and Chromium.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { HANG_MS, startBrowser } from "./support/browser.mjs";
import { makeFiles } from "./support/files.mjs";
import { startKinora } from "./support/kinora.mjs";
import { openLine } from "./support/line.mjs";
import { kept } from "./support/uploads.mjs";

const MB = 1_000_000;

let files;
let line;
let kinora;
let browser;

before(async () => {
  files = await makeFiles();
  line = await openLine();
  kinora = await startKinora({ publicUrl: line.address });
  line.lead(kinora.port);
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await line?.close();
  await kinora?.stop();
  await files?.remove();
});

test("chosen file uploads and plays without third-party requests", async () => {
  const clip = await files.clip("holiday.mp4", 3 * MB);
  const { url, uploadId } = await kinora.createUpload();
  await open(url, async (page, seen) => {
    await choose(page, clip.path);
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    await plays(page);
    assert.equal((await kinora.media(uploadId)).status, "Ready");
    assert.ok((await kinora.sources()).includes(clip.digest), "the file is kept as it was sent");
    assert.deepEqual(offsets(seen), [0], "one request brought all of it");
    assert.deepEqual(seen.console, [], "an error on the console, or a breach of the policy");
    assert.deepEqual(seen.addresses.filter((address) => !address.startsWith(line.address) && !address.startsWith("blob:")), []);

    // A later visit shows the result.
    await page.reload();
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    const remembered = await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("kinora.")));
    assert.deepEqual(remembered, [], "nothing is remembered of what is done");
  });
});

test("private media becomes ready without a player", async () => {
  const clip = await files.clip("private.mp4", MB);
  const { url } = await kinora.createUpload({ pushMediaSettings: { accessPolicy: "private" } });
  await open(url, async (page) => {
    await choose(page, clip.path);
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    assert.match(await page.locator("#ready-text").textContent(), /authorised viewers can play it/);
    assert.equal(await page.locator("iframe").count(), 0);
  });
});

test("file dropped anywhere on the page uploads", async () => {
  const clip = await files.clip("dropped.mp4", MB);
  const { url } = await kinora.createUpload();
  await open(url, async (page) => {
    await page.locator("#file").waitFor();
    const transfer = await page.evaluateHandle((bytes) => {
      const data = new DataTransfer();
      const binary = Uint8Array.from(atob(bytes), (character) => character.charCodeAt(0));
      data.items.add(new File([binary], "dropped.mp4", { type: "video/mp4" }));
      return data;
    }, clip.bytes.toString("base64"));
    await page.dispatchEvent("h1", "drop", { dataTransfer: transfer });
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    assert.ok((await kinora.sources()).includes(clip.digest));
  });
});

test("“Pause” stops, “Resume” continues from the server's offset", async () => {
  const clip = await files.clip("paused.mp4", 8 * MB);
  const { url } = await kinora.createUpload();
  await open(url, async (page, seen) => {
    await beginAndHold(page, url, clip);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("heading", { name: "Paused" }).waitFor();
    const asked = seen.requests.length;
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    assertGoesOn(offsets(seen), 2);
    assert.equal(seen.requests[asked].method, "HEAD", "it asks where the server stands");
    assert.ok((await kinora.sources()).includes(clip.digest));
  });
});

test("reloaded page resumes with the same file", async () => {
  const clip = await files.clip("reloaded.mp4", 8 * MB);
  const { url, uploadId } = await kinora.createUpload();
  await open(url, async (page, seen) => {
    await beginAndHold(page, url, clip);
    line.cut();
    await page.getByRole("heading", { name: "The server cannot be reached" }).waitFor();
    await page.goto("about:blank");
    line.mend();
    await page.goto(url);
    await page.getByRole("heading", { name: "Resume the upload" }).waitFor();
    assert.match(await page.locator("#choose-text").textContent(), /[kM]B of 8\.0 MB of reloaded\.mp4 are uploaded already/);
    const remembered = await page.evaluate(() => JSON.stringify(localStorage));
    assert.ok(remembered.includes(uploadId) && !remembered.includes(new URL(url).pathname), "the address is a secret");
    await choose(page, clip.path);
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    assertGoesOn(offsets(seen), 2);
    assert.ok((await kinora.sources()).includes(clip.digest));
  });
});

test("another file is detected by its size or by a question", async () => {
  const clip = await files.clip("begun.mp4", 8 * MB);
  const longer = await files.clip("longer.mp4", 9 * MB);
  const other = await files.clip("other.mp4", 8 * MB);
  const { url } = await kinora.createUpload();
  await open(url, async (page, seen) => {
    await beginAndHold(page, url, clip);
    line.cut();
    await page.goto("about:blank");
    line.mend();
    await page.goto(url);
    await page.getByRole("heading", { name: "Resume the upload" }).waitFor();
    const before = seen.requests.length;
    await choose(page, longer.path);
    await page.getByRole("heading", { name: "This is another file" }).waitFor();
    assert.match(await page.locator("#choose-text").textContent(), /started with begun\.mp4 of 8\.0 MB .* longer\.mp4 has 9\.0 MB/);
    await choose(page, other.path);
    await page.getByRole("heading", { name: "This seems to be another file" }).waitFor();
    assert.match(await page.locator("#question-text").textContent(), /the first file is called begun\.mp4/);
    await page.getByRole("button", { name: "Choose another file" }).click();
    assert.deepEqual(seen.requests.slice(before), [], "nothing was sent or asked of the protocol");
    await choose(page, clip.path);
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    assert.ok((await kinora.sources()).includes(clip.digest));
  });
});

test("resuming in another browser asks for the same file", async () => {
  const clip = await files.clip("moved.mp4", 8 * MB);
  const { url } = await kinora.createUpload();
  await open(url, async (page) => {
    await beginAndHold(page, url, clip);
    line.cut();
  });
  line.mend();
  await open(url, async (page, seen) => {
    await choose(page, clip.path);
    await page.getByRole("heading", { name: "Is this the same file?" }).waitFor();
    await page.getByRole("button", { name: "Yes, resume with it" }).click();
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    assert.ok(offsets(seen)[0] > 0);
    assert.ok((await kinora.sources()).includes(clip.digest));
  });
});

test("lost connection is explained, and the upload resumes by itself", async () => {
  const clip = await files.clip("cut.mp4", 8 * MB);
  const { url } = await kinora.createUpload();
  await open(url, async (page, seen) => {
    await beginAndHold(page, url, clip);
    line.cut();
    await page.getByRole("heading", { name: "The server cannot be reached" }).waitFor();
    line.mend();
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    assertGoesOn(offsets(seen), 2);
    assert.ok((await kinora.sources()).includes(clip.digest));
  });
});

test("offline upload waits and resumes once online", async () => {
  const clip = await files.clip("offline.mp4", 8 * MB);
  const { url } = await kinora.createUpload();
  await open(url, async (page, seen) => {
    await beginAndHold(page, url, clip);
    await page.context().setOffline(true);
    line.cut();
    await page.getByRole("heading", { name: "No connection" }).waitFor();
    line.mend();
    await page.context().setOffline(false);
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    assertGoesOn(offsets(seen), 2);
    assert.ok((await kinora.sources()).includes(clip.digest));
  });
});

test("second tab takes over, first tab stops and resumes on request", async () => {
  const clip = await files.clip("tabs.mp4", 12 * MB);
  const { url } = await kinora.createUpload();
  await open(url, async (first, seen) => {
    const begun = line.hold(3 * MB);
    await choose(first, clip.path);
    const release = await begun;
    await kept(url);
    const second = await first.context().newPage();
    await second.goto(url);
    const taken = line.hold(2 * MB);
    await choose(second, clip.path);
    await taken;
    release();
    await first.getByRole("heading", { name: "Another page sends this upload" }).waitFor();
    assert.equal(offsets(seen).length, 1, "the first one has stopped");
    await second.close();
    await first.getByRole("button", { name: "Resume" }).click();
    await first.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    assertGoesOn(offsets(seen), 2);
    assert.ok((await kinora.sources()).includes(clip.digest));
  });
});

test("first tab shows an upload that the second completed", async () => {
  const clip = await files.clip("finished.mp4", 12 * MB);
  const { url } = await kinora.createUpload();
  await open(url, async (first) => {
    const begun = line.hold(3 * MB);
    await choose(first, clip.path);
    const release = await begun;
    await kept(url);
    const second = await first.context().newPage();
    await second.goto(url);
    await choose(second, clip.path);
    await second.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    release();
    await first.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    assert.equal((await kinora.sources()).filter((digest) => digest === clip.digest).length, 1);
  });
});

test("keyboard sends a file, pauses and resumes", async () => {
  const clip = await files.clip("keyboard.mp4", 8 * MB);
  const { url } = await kinora.createUpload();
  await open(url, async (page) => {
    const chooser = page.waitForEvent("filechooser");
    await page.reload(); // the browser knows by now that no dialog may open
    await page.getByRole("heading", { name: "Which file?" }).waitFor();
    const held = line.hold(3 * MB);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await (await chooser).setFiles(clip.path);
    await held;
    await page.waitForFunction(() => document.activeElement?.id === "sending-title");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Paused" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.id), "resume", "the focus stays with the button");
    await page.keyboard.press("Space");
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    await page.waitForFunction(() => document.activeElement?.id === "ready-title");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "IFRAME", "and the player is next");
  });
});

test("accessibility tree matches the golden file", async () => {
  const clip = await files.clip("heard.mp4", 8 * MB);
  const { url } = await kinora.createUpload();
  await open(url, async (page) => {
    await page.getByRole("heading", { name: "Which file?" }).waitFor();
    const found = [await page.locator("body").ariaSnapshot()];
    const held = line.hold(3 * MB);
    await choose(page, clip.path);
    await held;
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("heading", { name: "Paused" }).waitFor();
    const text = await page.locator("body").ariaSnapshot();
    found.push(text.replace(/[\d.]+ (bytes|kB|MB) of 8\.0 MB, \d+ %/, "SENT of 8.0 MB, PERCENT %"));
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
    found.push((await page.locator("body").ariaSnapshot()).split("\n").filter((line) => !line.startsWith("    ")).join("\n"));
    await compare("upload.aria.yml", found.join("\n---\n"));
  });
});

// For the longer one, the server has rejected it before the browser has sent all bytes, and closes the
// connection.
for (const size of [MB, 80 * MB]) {
  test(`text file of ${size} bytes is rejected with an explanation`, async () => {
    const text = await files.of("notes.mp4", Buffer.alloc(size, "This is no film.\n"));
    const { url } = await kinora.createUpload();
    await open(url, async (page) => {
      await choose(page, text);
      await page.getByRole("heading", { name: "This file cannot be used" }).waitFor();
      assert.match(await page.locator("#ended-text").textContent(), /^[A-Z].{10,}\. Request a new link where you got this one\.$/);
      assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
    });
  });
}

test("empty file is not sent", async () => {
  const empty = await files.of("empty.mp4", Buffer.alloc(0));
  const { url } = await kinora.createUpload();
  await open(url, async (page, seen) => {
    await choose(page, empty);
    await page.getByRole("heading", { name: "This file is empty" }).waitFor();
    assert.deepEqual(seen.requests, []);
  });
});

test("too large file is rejected before a byte is sent", async () => {
  const large = await files.of("large.mp4", Buffer.alloc(0));
  await truncate(large, 500 * MB + 1); // a sparse file: uses no disk space
  const { url } = await kinora.createUpload({}, "/v1/on-demand/uploads");
  await open(url, async (page, seen) => {
    await choose(page, large);
    await page.getByRole("heading", { name: "The file is too large" }).waitFor();
    assert.match(await page.locator("#ended-text").textContent(), /at most 500000000 bytes.*\/v1\/on-demand\/upload/);
    assert.deepEqual(seen.requests.map(({ method }) => method), ["POST"]);
  });
});

test("cancelled upload shows a message to sender and later visitors", async () => {
  const clip = await files.clip("cancelled.mp4", 8 * MB);
  const { url, uploadId } = await kinora.createUpload();
  await open(url, async (page) => {
    const held = line.hold(3 * MB);
    await choose(page, clip.path);
    const release = await held;
    await kinora.cancelUpload(uploadId);
    release();
    await page.getByRole("heading", { name: "This upload was cancelled" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "This upload was cancelled" }).waitFor();
    assert.ok(!(await kinora.sources()).includes(clip.digest));
  });
});

test("incomplete URL shows an explanation and an error status", async () => {
  const { url } = await kinora.createUpload();
  await open(url.slice(0, -1), async (page, _, answer) => {
    assert.equal(answer.status(), 404);
    await page.getByRole("heading", { name: "There is no upload at this address" }).waitFor();
  });
});

// A fulfilled route stands in for server states that would need a long wait or a full disk.
const answers = [
  {
    name: "an address that has expired",
    status: 410,
    description: "this upload URL has expired; create another upload",
    heading: "This upload has expired",
    text: /This upload URL has expired; create another upload\. Request a new link/,
  },
  {
    name: "a page of another origin",
    status: 403,
    description: "this upload accepts requests only from pages of its corsOrigin, https://shop.example",
    heading: "Not allowed from here",
    text: /https:\/\/shop\.example/,
  },
];
for (const { name, status, description, heading, text } of answers) {
  test(`${name} is explained`, async () => {
    const { url } = await kinora.createUpload();
    await open("about:blank", async (page) => {
      await page.route(url, (route) => {
        const isPage = route.request().resourceType() === "document";
        return isPage ? route.continue() : route.fulfill({ status, json: { success: false, error: { code: status, description } } });
      });
      await page.goto(url);
      await page.getByRole("heading", { name: heading }).waitFor();
      assert.match(await page.locator("#ended-text").textContent(), text);
    });
  });
}

test("expired upload shows a message", async () => {
  const { url, uploadId } = await kinora.createUpload();
  await open("about:blank", async (page) => {
    await page.route(url, (route) => {
      const data = { uploadId, status: "timedout", keptBytes: 0, isReady: false };
      return route.request().resourceType() === "document" ? route.continue() : route.fulfill({ json: { success: true, data } });
    });
    await page.goto(url);
    await page.getByRole("heading", { name: "This upload has expired" }).waitFor();
  });
});

for (const [status, heading] of [[507, "The server’s disk is full"], [503, "The server is busy"]]) {
  test(`upload waits during ${status} and then resumes`, async () => {
    const clip = await files.clip(`later-${status}.mp4`, MB);
    const { url } = await kinora.createUpload();
    await open(url, async (page) => {
      let isRefused = true;
      const json = { success: false, error: { code: status, message: "", description: "" } };
      await page.route(url, (route) =>
        isRefused && route.request().method() === "PATCH"
          ? route.fulfill({ status, json, headers: { "retry-after": "1" } })
          : route.continue(),
      );
      await choose(page, clip.path);
      await page.getByRole("heading", { name: heading }).waitFor();
      isRefused = false;
      await page.getByRole("heading", { name: "Ready", exact: true }).waitFor();
      assert.ok((await kinora.sources()).includes(clip.digest));
    });
  });
}

test("corsOrigin decides which sites may send", async () => {
  const clip = await files.clip("foreign.mp4", MB);
  const site = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>A shop</h1>"));
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  const origin = `http://127.0.0.1:${site.address().port}`;
  try {
    for (const [corsOrigin, expected] of [[origin, 200], ["https://shop.example", "refused by the browser"], ["*", 200]]) {
      const { url } = await kinora.createUpload({ corsOrigin });
      await open(origin, async (page) => {
        const body = clip.bytes.toString("base64");
        const answer = await page.evaluate(async ({ url, body }) => {
          const bytes = Uint8Array.from(atob(body), (character) => character.charCodeAt(0));
          return fetch(url, { method: "PUT", body: bytes }).then(({ status }) => status, () => "refused by the browser");
        }, { url, body });
        assert.equal(answer, expected, corsOrigin);
      });
    }
  } finally {
    site.closeAllConnections();
    site.close();
    await once(site, "close");
  }
});

/** Opens a URL, passes the page to `body`, and closes it. */
async function open(url, body) {
  const context = await browser.newContext({ viewport: { width: 960, height: 720 } });
  try {
    const page = await context.newPage();
    /** `requests`: requests of the upload protocol; `addresses`: all requested URLs. */
    const seen = { requests: [], addresses: [], console: [] };
    page.on("request", (request) => {
      const [method, headers] = [request.method(), request.headers()];
      seen.addresses.push(request.url());
      if (method !== "GET") seen.requests.push({ method, offset: headers["upload-offset"] });
    });
    page.on("console", (message) => message.type() === "error" && seen.console.push(message.text()));
    page.on("pageerror", (error) => seen.console.push(String(error)));
    const answer = await page.goto(url);
    await body(page, seen, answer);
  } finally {
    line.mend();
    await context.close();
  }
}

/** Chooses a file, and pauses the connection when 3 MB have passed and some bytes are stored. */
async function beginAndHold(page, url, clip) {
  const held = line.hold(3 * MB);
  await choose(page, clip.path);
  await held;
  await kept(url);
}

async function choose(page, path) {
  await page.locator("#choose").waitFor();
  await page.setInputFiles("#file", path);
}

/** The offsets of the requests that sent bytes. */
function offsets(seen) {
  return seen.requests.filter(({ method }) => method === "PATCH").map(({ offset }) => Number(offset));
}

/**
 * Asserts at least this many requests: each starts at or after the start of the one before, and the last one
 * not at 0.
 */
function assertGoesOn(found, least) {
  assert.ok(found.length >= least, `${found}`);
  assert.deepEqual(found, [...found].sort((one, other) => one - other), "the offset never goes back");
  assert.ok(found.at(-1) > 0, `begun anew: ${found}`);
}

/** Asserts that the player in the page shows frames. */
async function plays(page) {
  const frame = await (await page.locator("#player iframe").elementHandle()).contentFrame();
  await frame.waitForFunction(() => document.querySelector("video")?.readyState >= 2, null, { timeout: HANG_MS });
  await frame.evaluate(() => document.querySelector("video").play());
  await frame.waitForFunction(() => document.querySelector("video").currentTime > 0.5, null, { timeout: HANG_MS });
}

/** Compares with `golden/{name}`; `UPDATE_GOLDEN=1` overwrites the golden file. */
async function compare(name, found) {
  const path = new URL(`golden/${name}`, import.meta.url);
  if (process.env.UPDATE_GOLDEN) await writeFile(path, `${found}\n`);
  assert.equal(`${found}\n`, await readFile(path, "utf8"));
}
