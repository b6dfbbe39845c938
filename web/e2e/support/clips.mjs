// Test clips of every common kind, made by ffmpeg; each lasts some seconds and has at most 640x360.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ffmpeg } from "./site.mjs";

/** Default length of a clip in seconds. */
export const SECONDS = 12;

const picture = (rate = "30", seconds = SECONDS) => `-f lavfi -i testsrc2=s=640x360:r=${rate}:d=${seconds}`;
const tone = (rate = 48_000) => `-f lavfi -i sine=f=440:r=${rate}:d=${SECONDS}`;
const x264 = (gop) =>
  `-c:v libx264 -preset veryfast -crf 28 -g ${gop} -keyint_min ${gop} -sc_threshold 0 -pix_fmt yuv420p`;
const aac = "-c:a aac -b:a 96k -ac 2";
/** Values of audio-only clips. */
const unseen = { largest: null, smallest: null, changes: 0, frames: 0 };

/**
 * Each clip by its name.
 *
 * - `file`: the file that `make` writes into the folder; `make` has command lines of ffmpeg.
 * - `needs`: the clip that must exist before.
 * - `largest`, `smallest`: the sizes of these rungs; null for audio only.
 * - `frames`: number of frames. `seconds`: length. `null` if only a run can measure it.
 * - `changes`: possible number of rung changes.
 */
export const clips = {
  "H.264 with B-frames in MP4": {
    file: "a.mp4",
    make: [`${picture()} ${tone()} ${x264(60)} ${aac} -movflags +faststart a.mp4`],
  },
  "VP9 with Opus in WebM": {
    file: "c.webm",
    make: [
      `${picture()} ${tone()} -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 600k -g 120 -c:a libopus -b:a 96k c.webm`,
    ],
  },
  "open GOP": {
    file: "d.mp4",
    make: [
      `${picture()} ${tone(44_100)} -c:v libx264 -preset veryfast -crf 28 -pix_fmt yuv420p -x264-params ` +
        `open-gop=1:keyint=60:min-keyint=60:bframes=3:b-adapt=0:scenecut=0 ${aac} d.mp4`,
    ],
  },
  "a GOP of 11 s": {
    file: "e.mp4",
    make: [`${picture()} ${tone()} ${x264(330)} ${aac} e.mp4`],
    changes: 1, // its second and last segment begins at 11 s
  },
  "variable frame rate, turned, without sound": {
    file: "f.mp4",
    // 60 frames a second, without two of every seven, and without any for half a second. Its segments last
    // 2.8 s and more, so the clip is long enough that some are left to load after each change.
    make: [
      `${picture("60", 20)} -vf select='not(between(mod(n,7),2,3))*not(between(n,300,330))' -vsync vfr ${x264(120)} f-0.mp4`,
      "-i f-0.mp4 -c copy -metadata:s:v:0 rotate=90 f.mp4",
    ],
    largest: "360x640",
    smallest: "240x426",
    frames: 834,
    seconds: 20,
  },
  "sound alone": {
    file: "g.m4a",
    make: [`${tone(44_100)} ${aac} g.m4a`],
    ...unseen,
  },
  "MP4 in fragments": {
    file: "h-fragments.mp4",
    needs: "H.264 with B-frames in MP4",
    make: ["-i a.mp4 -c copy -movflags +frag_keyframe+empty_moov+default_base_moof h-fragments.mp4"],
  },
  "MP4 that was cut off": {
    file: "h-cut.mp4",
    needs: "H.264 with B-frames in MP4",
    make: [],
    cut: { from: "a.mp4", kept: 0.7 },
    frames: null,
    seconds: null,
    changes: 1,
  },
  "Matroska": {
    file: "j.mkv",
    needs: "H.264 with B-frames in MP4",
    make: ["-i a.mp4 -c copy j.mkv"],
  },
  "ProRes with PCM in QuickTime": {
    file: "prores.mov",
    make: [`${picture()} ${tone()} -c:v prores_ks -profile:v 1 -c:a pcm_s16le prores.mov`],
  },
};

/** Further kinds with other containers and codecs; they take longer. */
export const further = {
  "MPEG-TS": {
    file: "a.ts",
    needs: "H.264 with B-frames in MP4",
    make: ["-i a.mp4 -c copy -f mpegts a.ts"],
  },
  "MPEG-4 with MP3 in AVI": {
    file: "mpeg4.avi",
    make: [`${picture()} ${tone()} -c:v mpeg4 -q:v 6 -bf 2 -c:a libmp3lame mpeg4.avi`],
  },
  "H.264 in FLV": {
    file: "a.flv",
    needs: "H.264 with B-frames in MP4",
    make: ["-i a.mp4 -c copy a.flv"],
  },
  "interlaced MPEG-2 in MPEG-PS": {
    file: "mpeg2.mpg",
    make: [`${picture()} ${tone()} -c:v mpeg2video -flags +ilme+ildct -q:v 6 -c:a mp2 -f vob mpeg2.mpg`],
  },
  "WMV": {
    file: "a.wmv",
    make: [`${picture()} ${tone()} -c:v wmv2 -q:v 6 -c:a wmav2 a.wmv`],
  },
  "VP8 with Vorbis in WebM": {
    file: "vp8.webm",
    make: [`${picture()} ${tone()} -c:v libvpx -deadline realtime -cpu-used 8 -b:v 600k -g 120 -c:a libvorbis vp8.webm`],
  },
  "10-bit H.264": {
    file: "high10.mp4",
    make: [`${picture()} ${tone()} -c:v libx264 -preset veryfast -crf 28 -g 60 -pix_fmt yuv420p10le ${aac} high10.mp4`],
  },
  "23.976 frames a second": {
    file: "film.mp4",
    make: [`${picture("24000/1001")} ${tone()} ${x264(48)} ${aac} film.mp4`],
    frames: 288,
  },
  "59.94 frames a second": {
    file: "sport.mp4",
    make: [`${picture("60000/1001")} ${tone()} ${x264(120)} ${aac} sport.mp4`],
    frames: 720,
  },
  ...Object.fromEntries(
    Object.entries({ wav: "pcm_s16le", mp3: "libmp3lame", flac: "flac", ogg: "libvorbis" }).map(([ending, codec]) => [
      `sound alone in ${ending.toUpperCase()}`,
      { file: `tone.${ending}`, make: [`${tone(44_100)} -c:a ${codec} tone.${ending}`], ...unseen },
    ]),
  ),
};

/** Files that cannot be played. */
export const refused = {
  "MP4 without its index": {
    file: "h-no-index.mp4",
    needs: "H.264 with B-frames in MP4",
    make: ["-i a.mp4 -c copy h-index-last.mp4"],
    cut: { from: "h-index-last.mp4", kept: 0.7 },
  },
};

/** Makes clips in `folder`, each once. Returns a function from a name to the clip with all its values. */
export function clipsIn(folder) {
  const kinds = { ...clips, ...further, ...refused };
  const made = new Map();
  const clip = (name) => {
    if (!made.has(name)) made.set(name, make(name));
    return made.get(name);
  };
  const make = async (name) => {
    const facts = { largest: "640x360", smallest: "426x240", frames: 30 * SECONDS, seconds: SECONDS, changes: 2, ...kinds[name] };
    if (facts.needs !== undefined) await clip(facts.needs);
    for (const command of facts.make) await ffmpeg(folder, command);
    if (facts.cut !== undefined) {
      const whole = await readFile(join(folder, facts.cut.from));
      await writeFile(join(folder, facts.file), whole.subarray(0, Math.round(whole.length * facts.cut.kept)));
    }
    return facts;
  };
  return clip;
}
