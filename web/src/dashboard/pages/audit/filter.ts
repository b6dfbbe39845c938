// Filters of the audit log in the address of its page.

import type { AuditFilter } from "../../api/audit.js";

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
