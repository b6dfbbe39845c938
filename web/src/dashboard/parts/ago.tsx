// How long ago something was: minutes, the day, or the date. The tooltip has the time in both zones.

import type { Times, Timestamp } from "../api/types.js";
import { useSettings } from "../frame/settings.js";
import { organisationText } from "../text/organisation.js";
import { text } from "../text/en.js";
import { format, inBothZones } from "./time.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Above this a date says more than a number of days. */
const DAYS_MAX = 14;

export function Ago({ at }: { at: Timestamp }) {
  const { times } = useSettings();
  const date = new Date(at);
  return (
    <time dateTime={at} title={inBothZones(date)}>
      {ago(date, new Date(), times)}
    </time>
  );
}

/** The day alone. */
export function Day({ at }: { at: Timestamp }) {
  const { times } = useSettings();
  const date = new Date(at);
  return (
    <time dateTime={at} title={inBothZones(date)}>
      {format(date, times, { dateStyle: "medium" })}
    </time>
  );
}

function ago(date: Date, now: Date, times: Times): string {
  const passed_ms = now.getTime() - date.getTime();
  if (passed_ms < MINUTE_MS) return organisationText.ago.now;
  if (passed_ms < HOUR_MS) return organisationText.ago.minutes(Math.floor(passed_ms / MINUTE_MS));
  const day = (date: Date) => format(date, times, { dateStyle: "short" });
  const time = `${format(date, times, { timeStyle: "short" })}${times === "utc" ? ` ${text.times.utc}` : ""}`;
  if (day(date) === day(now)) return organisationText.ago.today(time);
  if (day(date) === day(new Date(now.getTime() - DAY_MS))) return organisationText.ago.yesterday(time);
  const days = Math.max(2, Math.floor(passed_ms / DAY_MS));
  if (days <= DAYS_MAX) return organisationText.ago.days(days);
  return format(date, times, { dateStyle: "medium" });
}
