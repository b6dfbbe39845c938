// Builds `dist/`: one HTML template per page. Everything that a page loads is below `dist/assets/`, with a
// hash in its name.
//
// The name changes with the content, so assets can be cached forever; templates cannot. The output depends
// only on the sources and package-lock.json: it has no time and no path of this machine.

import { gzipSync } from "node:zlib";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const web = dirname(fileURLToPath(import.meta.url));
const dist = join(web, "dist");

/** Entries of the build: the template of each page, and the scripts and styles that it names. */
const pages = [
  { template: "src/player/embed.html", entries: ["src/player/player.ts", "src/player/player.css"] },
  { template: "src/upload/upload.html", entries: ["src/upload/upload.ts", "src/upload/upload.css"] },
  { template: "src/docs/docs.html", entries: ["src/docs/docs.ts", "src/docs/docs.css"] },
];

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });

const { metafile } = await build({
  absWorkingDir: web,
  entryPoints: pages.flatMap((page) => page.entries),
  outdir: join(dist, "assets"),
  entryNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  format: "esm",
  // Safari 16.4, Chrome 111 and Firefox 114 are of spring 2023. Older iPhones cannot play fMP4 by hls.js.
  target: ["es2022"],
  legalComments: "none", // the full licences are written below
  metafile: true,
  logLevel: "warning",
});

/** Maps the path of an entry to its output name. */
const assetOf = new Map(
  Object.entries(metafile.outputs)
    .filter(([, output]) => output.entryPoint)
    .map(([path, output]) => [output.entryPoint, basename(path)]),
);

for (const { template, entries } of pages) {
  let html = await readFile(join(web, template), "utf8");
  for (const entry of entries) {
    const name = basename(entry);
    if (!html.includes(`"${name}"`)) throw new Error(`${template} does not load ${name}`);
    html = html.replaceAll(`"${name}"`, `"/assets/${assetOf.get(entry)}"`);
  }
  await writeFile(join(dist, basename(template)), html);
}

// MIT and Apache-2.0 require the licence text with each copy.
const packages = new Set(
  Object.keys(metafile.inputs)
    .map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
    .filter(Boolean),
);
const licences = [];
for (const name of [...packages].sort()) {
  const folder = join(web, "node_modules", name);
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((name) => /^licen[cs]e(\.\w+)?$/i.test(name));
  if (file === undefined) throw new Error(`${name} brings no licence`);
  licences.push(`${name} ${version}\n\n${(await readFile(join(folder, file), "utf8")).trim()}\n`);
}
await writeFile(join(dist, "assets", "licences.txt"), licences.join("\n---\n\n"));

for (const path of Object.keys(metafile.outputs).sort()) {
  const bytes = await readFile(join(web, path));
  const kilobytes = (count) => `${(count / 1000).toFixed(0)} kB`;
  console.log(`${path}  ${kilobytes(bytes.length)}, ${kilobytes(gzipSync(bytes).length)} compressed`);
}
