// What happens when a session ends while a page is open: requests wait, a dialog asks to sign in again.

import { useSyncExternalStore } from "react";

type Waiting = (isSignedIn: boolean) => void;

/** Number of pages that can show the dialog. Without one a request does not wait. */
let pages = 0;
let waiting: Waiting[] = [];
const listeners = new Set<() => void>();

/** Resolves when the same person has signed in again (`true`) or does not want to (`false`). */
export function waitForSignIn(): Promise<boolean> {
  if (pages === 0) return Promise.resolve(false);
  return new Promise((resolve) => {
    waiting = [...waiting, resolve];
    notify();
  });
}

/** Ends the wait of all requests. */
export function endWait(isSignedIn: boolean): void {
  const settled = waiting;
  waiting = [];
  notify();
  for (const settle of settled) settle(isSignedIn);
}

/** Says that a page can show the dialog, until the returned function is called. */
export function offerSignIn(): () => void {
  pages += 1;
  return () => {
    pages -= 1;
    if (pages === 0) endWait(false);
  };
}

/** Whether requests wait for a new session. */
export function useIsSessionEnded(): boolean {
  return useSyncExternalStore(subscribe, () => waiting.length > 0);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(): void {
  for (const listener of listeners) listener();
}
