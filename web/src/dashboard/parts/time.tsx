// Times of the server, in the zone that the person has chosen. The tooltip has both zones.

import type { Times, Timestamp } from "../api/types.js";
import { useSettings } from "../frame/settings.js";
import { text } from "../text/en.js";

export function Time({ at }: { at: Timestamp }) {
  const { times } = useSettings();
  const date = new Date(at);
  return (
    <time dateTime={at} title={inBothZones(date)}>
      {short(date, times)}
    </time>
  );
}

/** It takes longer to find than a hundred dates to format. */
let zone: string | undefined;

/** Name of the time zone of this browser, of when it was first asked for. */
export function zoneName(): string {
  return (zone ??= Intl.DateTimeFormat().resolvedOptions().timeZone);
}

/** The tooltip of a time. */
export function inBothZones(date: Date): string {
  return `${full(date, "local")}\n${full(date, "utc")}`;
}

function short(date: Date, times: Times): string {
  const options: Intl.DateTimeFormatOptions = { dateStyle: "medium", timeStyle: "short" };
  return `${format(date, times, options)}${times === "utc" ? ` ${text.times.utc}` : ""}`;
}

/** A time with its day of the week and its zone. */
export function full(date: Date, times: Times): string {
  return `${format(date, times, { dateStyle: "full", timeStyle: "medium" })} ${times === "utc" ? text.times.utc : zoneName()}`;
}

/** Formats by their options: one takes longer to make than a thousand dates to format. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** A date in one of the two zones. */
export function format(date: Date, times: Times, options: Intl.DateTimeFormatOptions): string {
  const key = times + JSON.stringify(options);
  const known = formats.get(key) ?? new Intl.DateTimeFormat("en-GB", times === "utc" ? { ...options, timeZone: "UTC" } : options);
  formats.set(key, known);
  return known.format(date);
}
