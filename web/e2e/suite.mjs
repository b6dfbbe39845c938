#!/usr/bin/env node
// Prints the test files of a suite, one a line, as seen from the current folder.
//
//   node suite.mjs change    what each change has to pass: judged by content, so that a busy machine gives the same answer
//   node suite.mjs long      all of them; `KINORA_E2E_ALL=1` plays every kind of source, and judges by stalls too
//
// Run them one after another: each of them keeps two cores busy. They use the binary that `KINORA_BIN` names, or target/debug/kinora.

import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const CHANGE = ["player", "upload", "protocols", "run", "frame", "docs", "file", "sources"].map((name) => `${name}.test.mjs`);

const suite = process.argv[2];
if (process.argv.length !== 3 || !["change", "long"].includes(suite)) {
  console.error("usage: suite.mjs (change | long)");
  process.exit(2);
}
const all = (await readdir(FOLDER)).filter((name) => name.endsWith(".test.mjs")).sort();
const files = suite === "long" ? all : CHANGE;
for (const name of files) console.log(relative(process.cwd(), join(FOLDER, name)));
