// How fast bytes go, how long the rest takes, and numbers as people read them.

/** The time that a pace is taken from: long enough to be steady, short enough to notice a change. */
const WINDOW_MS = 8_000;
/** Less than this says nothing of a pace. */
const WINDOW_MIN_MS = 1_000;

/** Watches how many bytes went when. */
export class Pace {
  #seen: { at_ms: number; bytes: number }[] = [];

  /** So many bytes have gone at `now_ms`. */
  note(bytes: number, now_ms: number): void {
    // After a break less may be kept than had gone.
    if (bytes < (this.#seen.at(-1)?.bytes ?? 0)) this.#seen = [];
    this.#seen.push({ at_ms: now_ms, bytes });
    while (this.#seen.length > 2 && now_ms - (this.#seen[1]?.at_ms ?? now_ms) > WINDOW_MS) this.#seen.shift();
  }

  /** Bytes a second; `null` while that is not known. */
  perSecond(): number | null {
    const [first] = this.#seen;
    const last = this.#seen.at(-1);
    if (first === undefined || last === undefined || last.at_ms - first.at_ms < WINDOW_MIN_MS) return null;
    return ((last.bytes - first.bytes) * 1_000) / (last.at_ms - first.at_ms);
  }
}

/** `12.3 MB`: of thousands, as browsers and disks count. */
export function bytesText(bytes: number): string {
  const units = ["kB", "MB", "GB", "TB"];
  if (bytes < 1_000) return `${Math.round(bytes)} bytes`;
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), units.length);
  const value = bytes / 1_000 ** power;
  return `${value.toFixed(value < 100 ? 1 : 0)} ${units[power - 1]}`;
}

/** `about 3 minutes left`. */
export function leftText(seconds: number): string {
  const about = (count: number, unit: string) => `about ${count} ${unit}${count === 1 ? "" : "s"} left`;
  if (seconds < 5) return "a few seconds left";
  if (seconds < 55) return about(Math.ceil(seconds / 5) * 5, "second");
  if (seconds < 55 * 60) return about(Math.max(Math.round(seconds / 60), 1), "minute");
  return about(Math.max(Math.round(seconds / 3_600), 1), "hour");
}
