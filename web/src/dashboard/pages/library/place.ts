// "Back" returns to the same place of the library: to the media that was opened, as far down the window.

import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";

interface Place {
  id: string;
  /** Pixels from the top of the window. */
  top: number;
  hadFocus: boolean;
}

/** Places by the key of their entry in the history, as long as this document lives. */
const places = new Map<number, Place>();
let lastKey = 0;

export function usePlace(list: RefObject<HTMLElement | null>, address: string, isShown: boolean): void {
  const key = useRef(0);
  useLayoutEffect(() => {
    // The browser would scroll to a number of pixels: the entries above have other heights by then.
    history.scrollRestoration = "manual";
    const known = keyOfEntry();
    key.current = known ?? (lastKey += 1);
    if (known === null) history.replaceState({ place: key.current }, "");
    return () => {
      history.scrollRestoration = "auto"; // of the next entry
      const place = list.current && placeIn(list.current);
      if (place) places.set(key.current, place);
    };
  }, [list, address]);
  useEffect(() => {
    const place = places.get(key.current);
    if (!isShown || place === undefined) return;
    places.delete(key.current);
    // The effect of the page runs after this one: its heading gets the focus and scrolls to the top.
    queueMicrotask(() => {
      const item = list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(place.id)}"]`);
      if (!item) return;
      // Twice: entries above have their height only when they are near.
      for (let times = 0; times < 2; times += 1) scrollBy(0, item.getBoundingClientRect().top - place.top);
      if (place.hadFocus) item.querySelector<HTMLElement>("a")?.focus({ preventScroll: true });
    });
  }, [list, address, isShown]);
}

/** A key of this document in the entry of the history that is shown. A new entry has none. */
function keyOfEntry(): number | null {
  const state: unknown = history.state;
  if (typeof state !== "object" || state === null || !("place" in state) || typeof state.place !== "number") return null;
  return places.has(state.place) ? state.place : null;
}

/** The entry with the focus, else the first one that is seen. */
function placeIn(list: HTMLElement): Place | null {
  const focused = document.activeElement?.closest<HTMLElement>("[data-id]");
  const hadFocus = focused !== null && focused !== undefined && list.contains(focused);
  const item = hadFocus ? focused : [...list.children].find((child) => child.getBoundingClientRect().bottom > 0);
  const id = item instanceof HTMLElement ? item.dataset["id"] : undefined;
  return item && id !== undefined ? { id, top: item.getBoundingClientRect().top, hadFocus } : null;
}
