// Builds `dist/`: one HTML template per page. Everything that a page loads is below `dist/assets/`, with a
// hash in its name.
//
// The name changes with the content, so assets can be cached forever; templates cannot. The output depends
// only on the sources and package-lock.json: it has no time and no path of this machine. Beside each text is
// the same text compressed, `.br` and `.gz`. The server replaces values in `embed.html`, so it has none.

import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
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

/** The dashboard, whose pages are chunks that load when they are opened. */
const dashboard = {
  template: "src/dashboard/dashboard.html",
  entries: ["src/dashboard/main.tsx", "src/dashboard/early.ts", "src/dashboard/style/dashboard.css"],
  /** The page that most people see first. */
  firstPage: "src/dashboard/pages/library/library.tsx",
};

/** Bounds in bytes of gzip, which is all that browsers accept over plain HTTP; brotli is smaller. */
const FIRST_LOAD_MAX = 150_000;
const FIRST_LOAD_WITH_FONT_MAX = 200_000;
const CHUNK_MAX = 30_000;
/** Of each of the two chunks of uploads: the queue with its dialogs, and the client of tus. */
const UPLOADS_MAX = 20_000;
const UPLOADS = ["src/dashboard/upload-ui/host.tsx", "src/upload/sending.ts"];

/** Endings of files that compress. Fonts are compressed already. */
const TEXTS = [".css", ".html", ".js", ".json", ".svg", ".txt"];

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });

/** Builds entries into `dist/assets/`, and returns what esbuild says about inputs and outputs. */
async function bundle(entryPoints, options = {}) {
  const { metafile } = await build({
    absWorkingDir: web,
    entryPoints,
    outdir: join(dist, "assets"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    format: "esm",
    loader: { ".woff2": "file" },
    // Safari 16.4, Chrome 111 and Firefox 114 are of spring 2023. Older iPhones cannot play fMP4 by hls.js.
    target: ["es2022"],
    legalComments: "none", // the full licences are written below
    metafile: true,
    logLevel: "warning",
    ...options,
  });
  return metafile;
}

/**
 * Keeps what is loaded first in few files.
 *
 * esbuild makes a chunk for each set of entries that share a module: dozens of small files, one round trip
 * for each six of them. A page that is loaded later comes after all of the frame and, but for links, after
 * the first page. With an import of both it shares all of their modules, so the sets are the same.
 */
const fewFirstChunks = {
  name: "few first chunks",
  setup(esbuild) {
    const loadedLater = new Set();
    const first = ["src/dashboard/app.tsx", dashboard.firstPage].map((path) => join(web, path));
    esbuild.onResolve({ filter: /^\./ }, async ({ kind, path, resolveDir, pluginData }) => {
      if (kind !== "dynamic-import" || pluginData === fewFirstChunks) return undefined;
      const resolved = await esbuild.resolve(path, { kind, resolveDir, pluginData: fewFirstChunks });
      loadedLater.add(resolved.path);
      return resolved;
    });
    esbuild.onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
      if (!loadedLater.has(path)) return undefined;
      const imports = first.filter((other) => other !== path).map((other) => `import ${JSON.stringify(other)};\n`);
      return { contents: (await readFile(path, "utf8")) + imports.join(""), loader: path.endsWith("x") ? "tsx" : "ts" };
    });
  },
};

const builds = [
  await bundle(pages.flatMap((page) => page.entries)),
  await bundle(dashboard.entries, { splitting: true, jsx: "automatic", plugins: [fewFirstChunks] }),
];
const outputs = Object.assign({}, ...builds.map((metafile) => metafile.outputs));
const inputs = builds.flatMap((metafile) => Object.keys(metafile.inputs));

/** Maps the path of an entry to the path of its output. */
const outputOf = new Map(
  Object.entries(outputs)
    .filter(([, output]) => output.entryPoint)
    .map(([path, output]) => [output.entryPoint, path]),
);

/** This output and all that it imports at once. */
function closure(path, found = new Set()) {
  if (found.has(path)) return found;
  found.add(path);
  for (const { path: imported, kind } of outputs[path].imports) {
    if (["import-statement", "url-token"].includes(kind)) closure(imported, found);
  }
  return found;
}

for (const { template, entries, firstPage } of [...pages, dashboard]) {
  let html = await readFile(join(web, template), "utf8");
  for (const entry of entries) {
    const name = basename(entry);
    if (!html.includes(`"${name}"`)) throw new Error(`${template} does not load ${name}`);
    const output = outputOf.get(entry);
    html = html.replaceAll(`"${name}"`, `"/assets/${basename(output)}"`);
    // What the script imports loads together with it, not after it; so does the first page.
    const together = [entry, ...(firstPage && html.includes(`"module" src="/assets/${basename(output)}"`) ? [firstPage] : [])];
    const imported = [...new Set(together.flatMap((path) => [...closure(outputOf.get(path))]))].filter(
      (path) => path !== output && path.endsWith(".js"),
    );
    const links = imported.map((path) => `<link rel="modulepreload" href="/assets/${basename(path)}">\n    `);
    html = html.replace('<script type="module"', () => `${links.join("")}<script type="module"`);
  }
  await writeFile(join(dist, basename(template)), html);
}

// MIT, Apache-2.0 and the SIL Open Font License require the licence text with each copy.
const packages = new Set(
  inputs.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean),
);
const licences = [];
for (const name of [...packages].sort()) {
  const folder = join(web, "node_modules", name);
  const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((name) => /^licen[cs]e(\.\w+)?$/i.test(name));
  // The Unlicense is a dedication to the public domain: it has no conditions.
  if (file === undefined && license !== "Unlicense") throw new Error(`${name} brings no licence`);
  const text = file === undefined ? license : (await readFile(join(folder, file), "utf8")).trim();
  licences.push(`${name} ${version}\n\n${text}\n`);
}
await writeFile(join(dist, "assets", "licences.txt"), licences.join("\n---\n\n"));

/** Compressed bytes of a file below `dist/`, by gzip; the file itself if it does not compress. */
const sizes = new Map();
const assets = (await readdir(join(dist, "assets"))).map((name) => `assets/${name}`);
for (const name of [...assets, "dashboard.html"].sort()) {
  const path = join(dist, name);
  const bytes = await readFile(path);
  if (!TEXTS.includes(extname(name))) {
    sizes.set(name, bytes.length);
    continue;
  }
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  const brotli = brotliCompressSync(bytes, { params });
  const gzip = gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION });
  // The script of a page that shares all of its modules is one line, and compresses to more.
  if (gzip.length < bytes.length) {
    await writeFile(`${path}.br`, brotli);
    await writeFile(`${path}.gz`, gzip);
  }
  sizes.set(name, Math.min(gzip.length, bytes.length));
  console.log(`${name}  ${kilobytes(bytes.length)}, gzip ${kilobytes(gzip.length)}, brotli ${kilobytes(brotli.length)}`);
}

const sizeOf = (paths) => [...paths].reduce((sum, path) => sum + sizes.get(`assets/${basename(path)}`), 0);
const isFont = (path) => path.endsWith(".woff2");
const first = new Set([...dashboard.entries, dashboard.firstPage].flatMap((entry) => [...closure(outputOf.get(entry))]));
const withFont = sizes.get("dashboard.html") + sizeOf(first);
check("first load of the dashboard", withFont - sizeOf([...first].filter(isFont)), FIRST_LOAD_MAX);
check("first load of the dashboard with the font", withFont, FIRST_LOAD_WITH_FONT_MAX);
for (const [entry, output] of outputOf) {
  const bound = UPLOADS.includes(entry) ? UPLOADS_MAX : entry.startsWith("src/dashboard/pages/") ? CHUNK_MAX : null;
  if (bound === null) continue;
  check(`chunk of ${entry}`, sizeOf([...closure(output)].filter((path) => !first.has(path) || path === output)), bound);
}

/** Prints a size, and fails the build if it is above its bound. */
function check(what, bytes, bytesMax) {
  const line = `${what}: ${kilobytes(bytes)} of at most ${kilobytes(bytesMax)}, gzip`;
  if (bytes > bytesMax) throw new Error(line);
  console.log(line);
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
