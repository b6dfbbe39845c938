// Which media are selected. A range goes from the last one that was selected alone.

import { useCallback, useMemo, useRef, useState } from "react";
import type { Media } from "../../api/media-types.js";

export interface Selection {
  chosen: ReadonlyMap<string, Media>;
  /** Selects this one or not; with `isRange` all from the last one to this one. */
  toggle: (media: Media, isRange: boolean) => void;
  /** Selects these besides. */
  add: (media: Media[]) => void;
  /** Selects these alone. */
  set: (media: Media[]) => void;
  clear: () => void;
}

/** `media` is what is shown, in its order. The functions stay the same ones. */
export function useSelection(media: Media[]): Selection {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Media>>(new Map());
  const shown = useRef(media);
  shown.current = media;
  const anchor = useRef<string | null>(null);

  const toggle = useCallback((target: Media, isRange: boolean) => {
    const list = shown.current;
    const begin = list.findIndex(({ id }) => id === anchor.current);
    const end = list.findIndex(({ id }) => id === target.id);
    if (isRange && begin !== -1 && end !== -1) {
      const range = list.slice(Math.min(begin, end), Math.max(begin, end) + 1);
      setChosen((before) => new Map([...before, ...pairs(range)]));
      return;
    }
    anchor.current = target.id;
    setChosen((before) => {
      const next = new Map(before);
      if (!next.delete(target.id)) next.set(target.id, target);
      return next;
    });
  }, []);
  const add = useCallback((media: Media[]) => setChosen((before) => new Map([...before, ...pairs(media)])), []);
  const set = useCallback((media: Media[]) => setChosen(new Map(pairs(media))), []);
  const clear = useCallback(() => {
    anchor.current = null;
    setChosen((before) => (before.size === 0 ? before : new Map()));
  }, []);
  return useMemo(() => ({ chosen, toggle, add, set, clear }), [chosen, toggle, add, set, clear]);
}

function pairs(media: Media[]): [string, Media][] {
  return media.map((entry) => [entry.id, entry]);
}
