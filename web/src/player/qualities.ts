// The list of qualities of a manifest, as `video.videoRenditions`. No browser has it; media-chrome defines
// its name and shape. It connects hls.js, which has levels, with the controls, which ask the video element.

import Hls, { type Level } from "hls.js";

/** One quality. */
export interface Quality {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  /** Label for viewers: "720p", with the codec if another quality has the same height. */
  readonly label: string;
}

/** Codec names for viewers, by the first part of a codec string (RFC 6381). */
const CODECS: Record<string, string> = { avc1: "H.264", avc3: "H.264", hvc1: "HEVC", hev1: "HEVC", av01: "AV1", vp09: "VP9" };

/**
 * The p-number of a frame size: the height of the 16:9 frame that it fills in one direction. 1920x800 and
 * 1080x1920 are both 1080p. The server names its renditions by the same rule.
 */
export function pNumber(width: number, height: number): number {
  const [short, long] = width < height ? [width, height] : [height, width];
  return Math.max(short, Math.round((long * 9) / 16));
}

/** Like `Rendition[] & EventTarget` of media-chrome, as far as the controls use it. */
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

  /** Index of the quality that the viewer chose; -1 for automatic. Setting it selects a quality. */
  get selectedIndex(): number {
    return [...this].findIndex(({ label }) => label === this.#choice);
  }

  set selectedIndex(index: number) {
    this.#choice = this[index]?.label ?? null;
    this.#apply("next");
    this.dispatchEvent(new Event("change"));
  }

  /**
   * Lists the levels of `hls` until it is destroyed. Applies an earlier choice if `hls` has that quality.
   */
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

  /** Applies the choice to hls.js. */
  #apply(from: "first" | "next"): void {
    if (this.#hls === null) return;
    const level = this.selectedIndex === -1 ? -1 : Number(this[this.selectedIndex]?.id);
    // The loaded part plays up to the next segment, so playback does not stop.
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
    // A single quality needs no menu.
    this.length = shown.length > 1 ? shown.length : 0;
    shown.slice(0, this.length).forEach(({ level: { width, height }, index: id }, index) => {
      this[index] = { id: String(id), width, height, label: labels[index] ?? "" };
    });
    this.dispatchEvent(new Event(this.length > 0 ? "addrendition" : "removerendition"));
  }
}

/** The list of the page's video element. */
export const qualities = new Qualities();

// The controls look for the list once, when they are defined. A browser that plays HLS natively chooses the
// quality itself.
const video = document.getElementById("video");
if (video !== null && Hls.isSupported()) Object.defineProperty(video, "videoRenditions", { value: qualities });
