// Days as times: a field for a day, in the zone that the person has chosen.

import { useState } from "react";
import type { Times, Timestamp } from "../api/types.js";
import { Field } from "./field.js";

/** Days before it are typed only halfway. */
const FIRST_YEAR = 2000;

/** A day. One that is typed halfway changes nothing. */
export function DayField({ label, day, onChange }: { label: string; day: string; onChange: (day: string) => void }) {
  const [typed, setTyped] = useState(day);
  const [before, setBefore] = useState(day);
  if (day !== before) {
    setBefore(day);
    setTyped(day);
  }
  return (
    <Field
      label={label}
      type="date"
      value={typed}
      onChange={({ target: { value } }) => {
        setTyped(value);
        if (value === "" || Number.parseInt(value, 10) >= FIRST_YEAR) onChange(value);
      }}
    />
  );
}

/** The beginning of a day, `YYYY-MM-DD`, in the zone that the person has chosen. */
export function startOf(day: string, times: Times, daysLater = 0): Timestamp {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  const at = times === "utc" ? new Date(Date.UTC(year, month - 1, date + daysLater)) : new Date(year, month - 1, date + daysLater);
  return at.toISOString();
}

/** The day of a time, as `YYYY-MM-DD`. */
export function dayOf(at: Timestamp, times: Times): string {
  const date = new Date(at);
  const parts =
    times === "utc"
      ? [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]
      : [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return parts.map((part, place) => String(part).padStart(place === 0 ? 4 : 2, "0")).join("-");
}

/** The last day before a time that is exclusive. */
export function lastDayBefore(at: Timestamp, times: Times): string {
  return dayOf(new Date(Date.parse(at) - 1).toISOString(), times);
}
