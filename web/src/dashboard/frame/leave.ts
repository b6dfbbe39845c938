// Navigation that asks first while a page holds something unsaved (`parts/ask-before-leaving.tsx`).

import type { AroundNavHandler } from "wouter";

/** Gets the function that leaves the page. */
type Guard = (leave: () => void) => void;

let guard: Guard | null = null;

/** Asks before each navigation to another page, until the returned function is called. */
export function guardNavigation(next: Guard): () => void {
  guard = next;
  return () => {
    if (guard === next) guard = null;
  };
}

export const aroundNav: AroundNavHandler = (navigate, to, options) => {
  const staysHere = to.split(/[?#]/, 1)[0] === location.pathname;
  if (guard === null || staysHere) navigate(to, options);
  // The entry of the guard in the history is replaced.
  else guard(() => navigate(to, { ...options, replace: true }));
};

let root: { unmount: () => void } | null = null;
let isEnding = false;

/** The root of the page, which `newDocument` removes. */
export function setRoot(next: { unmount: () => void }): void {
  root = next;
}

/** Whether this document ends without asking. */
export function isDocumentEnding(): boolean {
  return isEnding;
}

/** Removes all that is shown and opens `path` in a new document. Asks nothing: the session is another one. */
export function newDocument(path: string): void {
  isEnding = true;
  guard = null;
  root?.unmount();
  location.assign(path);
}
