#!/usr/bin/env node
// Prints the test files of a suite, one per line, relative to the current folder.
//
//   node suite.mjs change    for each change: judged by content only, so that load does not matter
//   node suite.mjs long      all; `KINORA_E2E_ALL=1` plays every kind of source, judges stalls too
//
// Run them one after another: each keeps two cores busy. They use the binary in `KINORA_BIN`, or
// target/debug/kinora.

import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const CHANGE = [
  "player", "upload", "protocols", "run", "frame", "docs", "dashboard", "dashboard-access", "dashboard-trees",
  "dashboard-tokens", "dashboard-tokens-access", "dashboard-organisation", "dashboard-organisation-access",
  "dashboard-audit", "dashboard-library", "dashboard-library-bulk", "dashboard-media", "dashboard-media-edit",
  "dashboard-media-playback", "dashboard-uploads", "dashboard-uploads-queue", "dashboard-uploads-resume",
  "dashboard-unsaved", "dashboard-first-load", "file", "sources",
].map((name) => `${name}.test.mjs`);

const suite = process.argv[2];
if (process.argv.length !== 3 || !["change", "long"].includes(suite)) {
  console.error("usage: suite.mjs (change | long)");
  process.exit(2);
}
const all = (await readdir(FOLDER)).filter((name) => name.endsWith(".test.mjs")).sort();
const files = suite === "long" ? all : CHANGE;
for (const name of files) console.log(relative(process.cwd(), join(FOLDER, name)));
