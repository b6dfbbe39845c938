// The title of the page that is shown, for the path in the top bar.

import { useSyncExternalStore } from "react";

interface Shown {
  /** The page, as `pageOf` names it. */
  page: string;
  title: string;
}

let shown: Shown | null = null;
const listeners = new Set<() => void>();

export function setPageTitle(page: string, title: string): void {
  shown = { page, title };
  for (const listener of listeners) listener();
}

/** The title of this page; `null` until it is known. */
export function usePageTitle(page: string): string | null {
  const current = useSyncExternalStore(subscribe, () => shown);
  return current?.page === page ? current.title : null;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
