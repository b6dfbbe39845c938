// The states of an upload, and how files that are chosen again find theirs: without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Loads a module of the page. */
async function load(path) {
  const entry = fileURLToPath(new URL(`../src/dashboard/upload/${path}`, import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
}

const { next, titleOf, toBegin } = await load("item.ts");
const { matchOf } = await load("match.ts");
const { endsOf } = await load("ends.ts");
const { totalOf } = await load("../upload-ui/shown.ts");

const problem = (retry) => ({ title: "A problem", text: "", retry });
const start = { phase: "waiting", problem: null, uploadId: null, creationKey: "key", tries: 0 };
const EVENTS = {
  begin: {}, created: { uploadId: "id" }, moved: {}, hold: { problem: problem("by-itself") }, fail: { problem: problem("never") },
  pause: {}, resume: {}, restart: { creationKey: "other" }, abandoned: {}, complete: {}, ready: {},
};
const run = (state, ...types) => types.reduce((state, type) => next(state, { type, ...EVENTS[type] }), state);

test("events lead from phase to phase", () => {
  const check = (types, phase) => assert.equal(run(start, ...types).phase, phase, types.join(", "));
  check(["begin", "created", "moved", "complete", "ready"], "ready");
  check(["begin", "hold", "begin", "complete"], "preparing");
  check(["begin", "pause"], "paused");
  check(["begin", "pause", "resume"], "waiting");
  check(["begin", "hold", "pause"], "paused");
  check(["begin", "hold", "abandoned"], "waiting");
  check(["pause", "abandoned"], "paused");
  check(["begin", "fail"], "failed");
  check(["begin", "fail", "resume"], "failed"); // it can only begin again
  check(["begin", "fail", "restart"], "waiting");
  check(["begin", "complete", "fail"], "failed");
  check(["begin", "complete", "ready", "fail"], "ready");
  check(["begin", "complete", "pause"], "preparing");
});

test("an event that the phase does not allow changes nothing", () => {
  for (const [types, type] of [[["pause"], "begin"], [["begin", "complete", "ready"], "complete"], [["begin"], "ready"], [["pause"], "hold"], [[], "resume"]]) {
    const state = run(start, ...types);
    assert.equal(run(state, type), state, `${types} ${type}`);
  }
});

test("attempts are counted until bytes move; a retry keeps the upload, a restart does not", () => {
  const held = run(start, "begin", "created", "hold", "begin", "hold");
  assert.deepEqual([held.tries, held.problem?.retry], [2, "by-itself"]);
  const moved = run(held, "begin", "moved");
  assert.deepEqual([moved.tries, moved.problem], [0, null]);
  const stopped = next(moved, { type: "fail", problem: problem("on-request") });
  assert.equal(run(stopped, "resume").uploadId, "id");
  const again = run(stopped, "restart");
  assert.deepEqual([again.uploadId, again.creationKey], [null, "other"]);
  assert.equal(next(run(start, "created"), { type: "created", uploadId: "second" }).uploadId, "id", "the first one stays");
});

test("as many begin as may run, in their order, and only those with a file", () => {
  const item = (id, order, phase) => ({ ...start, id, order, phase });
  const items = [item("d", 4, "waiting"), item("b", 2, "waiting"), item("a", 1, "active"), item("c", 3, "waiting"), item("e", 0, "paused")];
  const begin = (atOnce, has = () => true) => toBegin(items, atOnce, has).map(({ id }) => id);
  assert.deepEqual(begin(1), []);
  assert.deepEqual(begin(3), ["b", "c"]);
  assert.deepEqual(begin(6, ({ id }) => id !== "c"), ["b", "d"]);
});

test("the remaining time counts what is sent or waits in the queue, at the rate of what is sent", () => {
  const items = ["active", "waiting", "held", "paused", "waiting", "failed"].map((phase, id) => ({ ...start, id, phase, size: 1_000 }));
  const progress = new Map([[0, { bytes: 500, perSecond: 100 }], [2, { bytes: 100, perSecond: 100 }], [3, { bytes: 100, perSecond: 100 }]]);
  const snapshot = { items, progress, withFile: new Set([0, 1, 2, 3]) };
  assert.equal(totalOf(items, snapshot).left, "about 15 seconds left"); // 500 and 1,000 bytes
  assert.equal(totalOf(items, { ...snapshot, withFile: new Set([0]) }).left, "about 5 seconds left");
  assert.equal(totalOf(items.slice(1), snapshot).left, null, "nothing is sent");
  assert.equal(totalOf(items, snapshot).share, 700 / 5_000, "the share is that of all");
});

test("a file finds its upload by name, size and both ends", () => {
  const items = [["talk.mp4", 5, "x"], ["talk.mp4", 5, "y"], ["other.mp4", 7, "z"]].map(([name, size, ends]) => ({ id: ends, name, size, ends }));
  const find = (name, size, ends) => matchOf(items, { name, size, ends });
  assert.equal(find("talk.mp4", 5, "y").item.id, "y");
  assert.equal(find("talk.mp4", 5, "w").mismatch, "content");
  assert.deepEqual([find("talk.mp4", 6, "x").mismatch, find("talk.mp4", 6, "x").expected.size], ["size", 5]);
  assert.equal(find("third.mp4", 5, "x").mismatch, "unknown");
});

test("the hash differs at either end, and for another length", async () => {
  const bytes = Buffer.alloc(600_000, "kinora");
  const changed = (at) => Buffer.from(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)));
  const whole = await endsOf(new Blob([bytes]));
  assert.equal(await endsOf(new Blob([Buffer.from(bytes)])), whole);
  assert.notEqual(await endsOf(new Blob([changed(0)])), whole);
  assert.notEqual(await endsOf(new Blob([changed(599_999)])), whole);
  assert.notEqual(await endsOf(new Blob([bytes.subarray(0, 599_999)])), whole);
  assert.notEqual(await endsOf(new Blob([])), whole);
});

test("titles are names without their ending, of 255 characters at most", () => {
  const check = (name, title) => assert.equal(titleOf(name), title);
  check("talk.mp4", "talk");
  check("a.b.mov", "a.b");
  check(".mp4", ".mp4");
  check("no ending", "no ending");
  check(`${"\u{1F3AC}".repeat(300)}.mp4`, "\u{1F3AC}".repeat(255));
});
