// One request for a double click: the second click can arrive before the page shows that the first is sent.

import { useEffect, useRef } from "react";

/** A click within this time is the same one, if no request has begun. */
const CLICK_MS = 500;

/** Returns a function that runs its argument unless a request is under way. */
export function useOnce(isBusy: boolean): (run: () => void) => void {
  const ranAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    if (!isBusy) ranAt.current = Number.NEGATIVE_INFINITY;
  }, [isBusy]);
  return (run) => {
    const now = performance.now();
    if (isBusy || now - ranAt.current < CLICK_MS) return;
    ranAt.current = now;
    run();
  };
}
