// Navigation that asks first while a page holds something unsaved (`parts/ask-before-leaving.tsx`).

import type { AroundNavHandler } from "wouter";

/** Gets the function that leaves the page. */
type Guard = (leave: () => void) => void;

/** The guards of what is shown, the top one last: that of a sheet lies above that of its page. */
let guards: Guard[] = [];

/** Asks `next` before each navigation to another page, until the returned function is called. */
export function guardNavigation(next: Guard): () => void {
  guards.push(next);
  return () => {
    guards = guards.filter((guard) => guard !== next);
  };
}

/** Whether no other guard lies above this one. */
export function isTopGuard(guard: Guard): boolean {
  return guards.at(-1) === guard;
}

export const aroundNav: AroundNavHandler = (navigate, to, options) => {
  const staysHere = to.split(/[?#]/, 1)[0] === location.pathname;
  if (guards.length === 0 || staysHere) return navigate(to, options);
  // The entry of the guard in the history is replaced, or Back would have to leave it too.
  const leave = () => navigate(to, { ...options, replace: true });
  // The top one asks first, then the one below it.
  guards.reduce<() => void>((then, guard) => () => guard(then), leave)();
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
  guards = [];
  root?.unmount();
  location.assign(path);
}
