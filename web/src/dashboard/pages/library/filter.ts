// Filters of the library in the address of its page.

import type { MediaFilter } from "../../api/media-list.js";
import type { MediaStatus } from "../../api/media-types.js";

export const STATUSES: MediaStatus[] = ["Ready", "Downloading", "Created", "Failed"];
const METADATA = "meta.";

/** The filter of an address. What is empty or unknown is left out. */
export function filterOf(search: string): MediaFilter {
  const query = new URLSearchParams(search);
  const time = (name: string) => {
    const value = query.get(name);
    return value === null || Number.isNaN(Date.parse(value)) ? undefined : value;
  };
  const metadata = [...query].filter(([name]) => name.startsWith(METADATA)).map(([name, value]) => [name.slice(METADATA.length), value] as const);
  return withoutEmpty({
    status: STATUSES.find((status) => status === query.get("state")),
    title: query.get("title") ?? undefined,
    creatorId: query.get("creator") ?? undefined,
    from: time("from"),
    to: time("to"),
    metadata: metadata.length > 0 ? Object.fromEntries(metadata) : undefined,
  });
}

/** The query of the page; empty without a filter. */
export function searchOf({ status, title, creatorId, from, to, metadata = {} }: MediaFilter): string {
  const query = new URLSearchParams();
  const plain = { state: status, title, creator: creatorId, from, to };
  for (const [name, value] of Object.entries(plain)) if (value) query.set(name, value);
  for (const [key, value] of Object.entries(metadata)) query.set(METADATA + key, value);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

/** The filter with some values changed; `undefined` and `""` remove. */
export function withValues(filter: MediaFilter, values: { [Name in keyof MediaFilter]: MediaFilter[Name] | undefined }): MediaFilter {
  return withoutEmpty({ ...filter, ...values });
}

export function isFiltered(filter: MediaFilter): boolean {
  return Object.keys(filter).length > 0;
}

function withoutEmpty(filter: { [Name in keyof MediaFilter]: MediaFilter[Name] | undefined }): MediaFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined && value !== "" && !(typeof value === "object" && Object.keys(value).length === 0)));
}
