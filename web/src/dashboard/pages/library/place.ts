// "Back" returns to the same place of the library: to the media that was opened, as far down the window.
// After a reload the pages up to it are loaded again.

import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import type { Media } from "../../api/media-types.js";
import { forgetPlace, newKey, type Place, placeOf, setPlace } from "./places.js";

/** Pages that are loaded for a place. */
const PAGES_MAX = 40;

/** Pixels below which the window counts as not scrolled. */
const TOP = 8;

interface Shown {
  /** Of the address, not of the one before. */
  isShown: boolean;
  media: Media[];
  /** Loads the next page; `null` if there is none, or if the last attempt failed. */
  loadMore: (() => void) | null;
  isLoading: boolean;
}

export function usePlace(list: RefObject<HTMLElement | null>, address: string, { isShown, media, loadMore, isLoading }: Shown): void {
  const key = useRef(0);
  const latest = useRef(media);
  latest.current = media;
  /** How far the window was scrolled while pages are loaded: the person may scroll meanwhile. */
  const waiting = useRef<{ scrollY: number; pages: number } | null>(null);

  useLayoutEffect(() => {
    // The browser would scroll to a number of pixels: the entries above have other heights by then.
    history.scrollRestoration = "manual";
    const known = keyOfEntry();
    key.current = known ?? newKey();
    waiting.current = null;
    if (known === null) history.replaceState({ place: key.current }, "");
    const store = () => {
      const place = list.current && placeIn(list.current, latest.current);
      // At the top a list shows what is new.
      if (place && (scrollY > TOP || place.hadFocus)) setPlace(key.current, place);
    };
    addEventListener("pagehide", store);
    return () => {
      removeEventListener("pagehide", store);
      history.scrollRestoration = "auto"; // of the next entry
      store();
    };
  }, [list, address]);

  useEffect(() => {
    const place = placeOf(key.current);
    if (!isShown || isLoading || place === null) return;
    const index = indexOf(place, media);
    const { current: before } = waiting;
    const hasScrolled = before !== null && Math.abs(scrollY - before.scrollY) > 1;
    if (index === -1 && loadMore !== null && !hasScrolled && (before?.pages ?? 0) < PAGES_MAX) {
      waiting.current = { scrollY, pages: (before?.pages ?? 0) + 1 };
      loadMore();
      return;
    }
    waiting.current = null;
    forgetPlace(key.current);
    if (hasScrolled) return;
    // The effect of the page runs after this one: its heading gets the focus and scrolls to the top.
    queueMicrotask(() => {
      const item = list.current?.children[index === -1 ? media.length - 1 : index];
      if (!item) return;
      const move = () => scrollBy(0, item.getBoundingClientRect().top - place.top);
      // Entries above have their height only when they are near: in the frame after the one that finds it.
      move();
      const moved = scrollY;
      requestAnimationFrame(() => requestAnimationFrame(() => scrollY === moved && move()));
      if (place.hadFocus) item.querySelector<HTMLElement>("a")?.focus({ preventScroll: true });
    });
  }, [list, address, isShown, media, loadMore, isLoading]);
}

/** Where the media of the place is, or the next older one; -1 if the list does not reach it. */
function indexOf({ createdAt, sameAbove }: Place, media: Media[]): number {
  const first = media.findIndex((entry) => Date.parse(entry.createdAt) <= createdAt);
  const isSame = first !== -1 && Date.parse(media[first]?.createdAt ?? "") === createdAt;
  const index = isSame ? first + sameAbove : first;
  return index < media.length ? index : -1;
}

/** Whether the page returns to a place. */
export function hasPlace(): boolean {
  return keyOfEntry() !== null;
}

/** The key in the entry of the history that is shown, if its place is known. A new entry has none. */
function keyOfEntry(): number | null {
  const state: unknown = history.state;
  if (typeof state !== "object" || state === null || !("place" in state) || typeof state.place !== "number") return null;
  return placeOf(state.place) === null ? null : state.place;
}

/** The entry with the focus, else the first one that is seen. */
function placeIn(list: HTMLElement, media: Media[]): Place | null {
  const focused = document.activeElement?.closest("[data-id]");
  const hadFocus = focused !== null && focused !== undefined && list.contains(focused);
  const items = [...list.children];
  const item = hadFocus ? focused : items.find((child) => child.getBoundingClientRect().bottom > 0);
  const index = item ? items.indexOf(item) : -1;
  const entry = media[index];
  if (!item || !entry) return null;
  const createdAt = Date.parse(entry.createdAt);
  const first = media.findIndex((other) => Date.parse(other.createdAt) === createdAt);
  return { createdAt, sameAbove: index - first, top: item.getBoundingClientRect().top, hadFocus };
}
