// Filters of the audit log in the address of its page, and days as times.

import type { AuditFilter } from "../../api/audit.js";
import type { Times, Timestamp } from "../../api/types.js";

const NAMES = ["action", "actor", "object", "from", "to"] as const;

/** The filter of an address. What is empty, or no time where one is needed, is left out. */
export function filterOf(search: string): AuditFilter {
  const query = new URLSearchParams(search);
  const filter: AuditFilter = {};
  for (const name of NAMES) {
    const value = query.get(name);
    const isTime = name === "from" || name === "to";
    if (value && !(isTime && Number.isNaN(Date.parse(value)))) filter[name] = value;
  }
  return filter;
}

/** The query of the page; empty without a filter. */
export function searchOf(filter: AuditFilter): string {
  const query = new URLSearchParams(filter as Record<string, string>).toString();
  return query === "" ? "" : `?${query}`;
}

/** The filter with one value changed; `""` removes it. */
export function withValue(filter: AuditFilter, name: (typeof NAMES)[number], value: string): AuditFilter {
  const { [name]: _before, ...rest } = filter;
  return value === "" ? rest : { ...rest, [name]: value };
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
