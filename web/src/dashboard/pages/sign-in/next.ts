// Where a person goes after the sign-in.

const BASE = "/dashboard";

/**
 * The path of `?next=` below `/dashboard`, for the router. The overview unless it is a path of the dashboard
 * on this site: a link to the sign-in page must not lead to another one.
 */
export function nextPath(next: string | null): string {
  if (next === null || !/^\/(?![/\\])/.test(next)) return "/";
  const address = new URL(next, location.origin);
  const isHere = address.origin === location.origin && address.pathname.startsWith(`${BASE}/`);
  const path = address.pathname.slice(BASE.length);
  if (!isHere || path.startsWith("//") || path.startsWith("/sign-in")) return "/";
  return path + address.search;
}

/** The sign-in page that leads back to this address. */
export function signInPath(path: string, search: string): string {
  if (path === "/") return "/sign-in";
  const next = BASE + path + (search === "" ? "" : `?${search}`);
  return `/sign-in?next=${encodeURIComponent(next)}`;
}
