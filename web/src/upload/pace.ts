// The rate of an upload, its remaining time, and numbers in readable form.

/** The window of the rate: long enough to be steady, short enough to show a change. */
const WINDOW_MS = 8_000;
/** Below this duration the rate is unknown. */
const WINDOW_MIN_MS = 1_000;

/** Measures the rate from byte counts over time. */
export class Pace {
  #seen: { at_ms: number; bytes: number }[] = [];

  /** Records the bytes sent until `now_ms`. */
  note(bytes: number, now_ms: number): void {
    // After an interruption the server may have stored less than was sent.
    if (bytes < (this.#seen.at(-1)?.bytes ?? 0)) this.#seen = [];
    this.#seen.push({ at_ms: now_ms, bytes });
    while (this.#seen.length > 2 && now_ms - (this.#seen[1]?.at_ms ?? now_ms) > WINDOW_MS) this.#seen.shift();
  }

  /** Bytes per second; `null` while unknown. */
  perSecond(): number | null {
    const [first] = this.#seen;
    const last = this.#seen.at(-1);
    if (first === undefined || last === undefined || last.at_ms - first.at_ms < WINDOW_MIN_MS) return null;
    return ((last.bytes - first.bytes) * 1_000) / (last.at_ms - first.at_ms);
  }
}

/** `12.3 MB`: decimal units, as browsers and disks use. */
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
