// The secret of a one-time link. It is in the fragment of the address, which no server and no log receives.

import { useSyncExternalStore } from "react";

let secret = "";
const listeners = new Set<() => void>();

/** Takes the secret out of the address bar and the history. Called before anything is drawn. */
export function takeSecret(): void {
  if (!/^\/dashboard\/(setup|join|reset)\/?$/.test(location.pathname)) return;
  take();
  // Another link opened in the same tab changes only the fragment.
  addEventListener("hashchange", take);
}

/** The secret of this page; empty if its address had none. */
export function useSecret(): string {
  return useSyncExternalStore(subscribe, () => secret);
}

function take(): void {
  if (location.hash.length < 2) return;
  secret = location.hash.slice(1);
  history.replaceState(history.state, "", location.pathname + location.search);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
