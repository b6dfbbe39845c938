// The qualities of a manifest, to choose from: what the controls call `video.videoRenditions`. No browser has it; the name
// and the shape are those of media-chrome. hls.js knows the qualities as levels, the controls ask the video element: this is
// the list between.

import Hls, { type Level } from "hls.js";

/** One quality. */
export interface Quality {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  /** For people: "720p", and what tells it from another of the same size. */
  readonly label: string;
}

/** What people call the first part of a codec string, RFC 6381. */
const CODECS: Record<string, string> = { avc1: "H.264", avc3: "H.264", hvc1: "HEVC", hev1: "HEVC", av01: "AV1", vp09: "VP9" };

/**
 * The p-number of a picture: the height of a frame of 16:9 that it fills in one direction. 1920x800 is 1080p, and so is
 * 1080x1920, as the names of the server's renditions have it.
 */
export function pNumber(width: number, height: number): number {
  const [short, long] = width < height ? [width, height] : [height, width];
  return Math.max(short, Math.round((long * 9) / 16));
}

/** As `Rendition[] & EventTarget` of media-chrome, with what the controls use of it. */
class Qualities extends EventTarget {
  [index: number]: Quality;
  length = 0;
  #hls: Hls | null = null;
  #choice: string | null = null;

  *[Symbol.iterator](): Iterator<Quality> {
    for (let index = 0; index < this.length; index += 1) {
      const quality = this[index];
      if (quality !== undefined) yield quality;
    }
  }

  /** Index of the quality that the viewer chose; -1 while the player chooses. Setting it chooses. */
  get selectedIndex(): number {
    return [...this].findIndex(({ label }) => label === this.#choice);
  }

  set selectedIndex(index: number) {
    this.#choice = this[index]?.label ?? null;
    this.#apply("next");
    this.dispatchEvent(new Event("change"));
  }

  /** Lists the levels of `hls`, until it is destroyed. A choice that was made before holds for it too, if it has that quality. */
  follow(hls: Hls): void {
    this.#hls = hls;
    hls.on(Hls.Events.MANIFEST_PARSED, () => {
      this.#list(hls.levels);
      this.#apply("first");
    });
    hls.on(Hls.Events.LEVELS_UPDATED, () => this.#list(hls.levels));
    hls.on(Hls.Events.DESTROYING, () => {
      this.#hls = null;
      this.#list([]);
    });
  }

  /** Tells hls.js what was chosen. */
  #apply(from: "first" | "next"): void {
    if (this.#hls === null) return;
    const level = this.selectedIndex === -1 ? -1 : Number(this[this.selectedIndex]?.id);
    // What is loaded already is played up to the next segment, so that nothing stops.
    if (from === "next") this.#hls.nextLevel = level;
    else if (level !== -1) this.#hls.loadLevel = level;
  }

  #list(levels: Level[]): void {
    const shown = levels.map((level, index) => ({ level, index })).filter(({ level }) => level.width > 0 && level.height > 0);
    const name = ({ width, height }: Level) => `${pNumber(width, height)}p`;
    const labels = shown.map(({ level }) => {
      const isOnly = shown.filter(({ level: other }) => name(other) === name(level)).length === 1;
      const codec = CODECS[level.videoCodec?.split(".")[0] ?? ""];
      return isOnly || codec === undefined ? name(level) : `${name(level)} ${codec}`;
    });
    const before = this.length;
    for (let index = 0; index < before; index += 1) delete this[index];
    // One quality is no choice.
    this.length = shown.length > 1 ? shown.length : 0;
    shown.slice(0, this.length).forEach(({ level: { width, height }, index: id }, index) => {
      this[index] = { id: String(id), width, height, label: labels[index] ?? "" };
    });
    this.dispatchEvent(new Event(this.length > 0 ? "addrendition" : "removerendition"));
  }
}

/** The list of the page's video element. */
export const qualities = new Qualities();

// The controls look for the list once, when they are defined. Where the browser plays HLS by itself it chooses by itself.
const video = document.getElementById("video");
if (video !== null && Hls.isSupported()) Object.defineProperty(video, "videoRenditions", { value: qualities });
