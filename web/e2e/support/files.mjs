// Files to upload: a clip, padded to any length, with different bytes each time.

import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ffmpeg } from "./site.mjs";

/** Length of the clip in seconds. */
export const CLIP_S = 2;

/** Makes a folder for files. The caller removes it. */
export async function makeFiles() {
  const folder = await mkdtemp(join(tmpdir(), "kinora-files-"));
  const picture = `-f lavfi -i testsrc2=s=320x180:r=24:d=${CLIP_S} -c:v libx264 -preset ultrafast -g 48 -pix_fmt yuv420p`;
  await ffmpeg(folder, `${picture} -movflags +faststart clip.mp4`);
  const clip = await readFile(join(folder, "clip.mp4"));
  return {
    folder,
    /** The clip, padded to `size` bytes by a `free` box (ISO/IEC 14496-12, 8.1.2) with random bytes. */
    async clip(name, size) {
      const free = randomBytes(size - clip.length);
      free.writeUInt32BE(free.length, 0);
      free.write("free", 4, "latin1");
      const bytes = Buffer.concat([clip, free]);
      const path = join(folder, name);
      await writeFile(path, bytes);
      return { path, name, size, bytes, digest: createHash("sha256").update(bytes).digest("hex") };
    },
    /** A file with these bytes. */
    async of(name, bytes) {
      const path = join(folder, name);
      await writeFile(path, bytes);
      return path;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
