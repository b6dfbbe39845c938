// The next page of the list: by a button, and by itself when the end of the list is near.

import { type RefObject, useEffect, useRef } from "react";
import { PAGE_LENGTH } from "../../api/media-list.js";
import { Button } from "../../parts/button.js";
import { text } from "../../text/en.js";
import { libraryText } from "../../text/library.js";

/** How near the end is, as a part of the height of the window. */
const NEAR = "80%";

interface Props {
  list: RefObject<HTMLElement | null>;
  /** Entries that are not shown yet. */
  left: number;
  isBusy: boolean;
  /** After an error only the button asks again. */
  hasFailed: boolean;
  onMore: () => Promise<unknown>;
}

export function MoreButton({ list, left, isBusy, hasFailed, onMore }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const more = useRef(onMore);
  more.current = onMore;
  useEffect(() => {
    if (isBusy || hasFailed || box.current === null) return undefined;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void more.current(), { rootMargin: `0px 0px ${NEAR}` });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isBusy, hasFailed]);
  const showMore = async () => {
    const last = list.current?.lastElementChild;
    await onMore();
    // The focus goes to the first of the new ones: the button moves away or disappears.
    requestAnimationFrame(() => last?.nextElementSibling?.querySelector<HTMLElement>("a")?.focus());
  };
  const count = Math.min(left, PAGE_LENGTH);
  return (
    <div ref={box} className="more">
      <Button isBusy={isBusy} onClick={() => void showMore()}>
        {hasFailed ? text.tryAgain : count > 0 ? libraryText.more(count) : libraryText.showMore}
      </Button>
    </div>
  );
}
