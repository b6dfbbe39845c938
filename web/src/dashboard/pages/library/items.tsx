// The media as a grid or a list: the same entries, the style sheet lays them out.

import { type KeyboardEvent, memo, type MouseEvent, type RefObject } from "react";
import { Lock } from "lucide-react";
import { Link } from "wouter";
import type { Media } from "../../api/media-types.js";
import { useSettings } from "../../frame/settings.js";
import { Ago } from "../../parts/ago.js";
import { Duration, secondsOf } from "../../parts/duration.js";
import { MediaImage } from "../../parts/media-image.js";
import { stateOf } from "../../parts/media-state.js";
import { State } from "../../parts/state.js";
import { libraryText } from "../../text/library.js";
import { mediaText } from "../../text/media.js";
import type { Selection } from "./selection.js";

/** Entries of the first frame: what a laptop shows. A slow one needs half a second for a whole page. */
const FIRST_ENTRIES = 12;

interface Props {
  list: RefObject<HTMLUListElement | null>;
  media: Media[];
  /** Whether all of them are shown, not only those of the first frame. */
  isWhole: boolean;
  selection: Selection;
}

export function Items({ list, media, isWhole, selection }: Props) {
  const { library: view, keys } = useSettings();
  const { chosen, toggle } = selection;
  const entryAt = (target: EventTarget) => {
    const item = (target as Element).closest<HTMLElement>("li[data-id]");
    return { item, entry: item && media.find(({ id }) => id === item.dataset["id"]) };
  };
  /** With a selection, Shift and a click on a link selects up to it. */
  const onClick = (event: MouseEvent) => {
    const { entry } = entryAt(event.target);
    if (!entry || chosen.size === 0 || !event.shiftKey || !(event.target as Element).closest("a")) return;
    event.preventDefault();
    event.stopPropagation();
    toggle(entry, true);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { item, entry } = entryAt(event.target);
    if (!item || !entry || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && chosen.size > 0) selection.clear();
    else if (event.key === "x" && keys) toggle(entry, false);
    else if (event.key.startsWith("Arrow")) {
      const next = neighbour(item, event.key);
      const nextEntry = next && media.find(({ id }) => id === next.dataset["id"]);
      if (!next || !nextEntry) return;
      if (event.shiftKey) {
        if (!chosen.has(entry.id)) toggle(entry, false);
        toggle(nextEntry, true);
      }
      next.querySelector<HTMLElement>("a")?.focus();
    } else return;
    event.preventDefault();
  };
  return (
    <ul ref={list} className={chosen.size > 0 ? `media-${view} selecting` : `media-${view}`} aria-label={libraryText.list} onKeyDown={onKeyDown} onClickCapture={onClick}>
      {(isWhole ? media : media.slice(0, FIRST_ENTRIES)).map((entry) => (
        <Item key={entry.id} media={entry} isSelected={chosen.has(entry.id)} onToggle={toggle} />
      ))}
    </ul>
  );
}

/** The entry beside this one in the direction of an arrow key. */
function neighbour(item: HTMLElement, key: string): HTMLElement | null {
  const step = (from: HTMLElement, isForward: boolean) => (isForward ? from.nextElementSibling : from.previousElementSibling) as HTMLElement | null;
  if (key === "ArrowLeft" || key === "ArrowRight") return step(item, key === "ArrowRight");
  const { left } = item.getBoundingClientRect();
  for (let next = step(item, key === "ArrowDown"); next !== null; next = step(next, key === "ArrowDown")) {
    if (Math.abs(next.getBoundingClientRect().left - left) < 1) return next;
  }
  return null;
}

interface ItemProps {
  media: Media;
  isSelected: boolean;
  onToggle: Selection["toggle"];
}

const Item = memo(function Item({ media, isSelected, onToggle }: ItemProps) {
  const title = mediaText.title(media);
  const { tone, word, detail } = stateOf(media);
  const resolution = media.status === "Failed" ? null : media.isAudioOnly ? mediaText.audio : media.sourceResolution && mediaText.resolution(media.sourceResolution);
  return (
    <li className={isSelected ? "media picked" : "media"} data-id={media.id}>
      <Link className="open" href={`/w/${media.workspaceId}/media/${media.id}`}>
        <span className="frame">
          <MediaImage media={media} />
          {isPrivate(media) && (
            <span className="lock" title={mediaText.policies.private}>
              <Lock className="i" aria-label={mediaText.policies.private} role="img" />
            </span>
          )}
          {secondsOf(media.duration) > 0 && (
            <span className="length">
              <Duration value={media.duration} />
            </span>
          )}
        </span>
        <h2 className="name" dir="auto">
          {title}
        </h2>
      </Link>
      <label className="pick">
        <input
          type="checkbox"
          aria-label={libraryText.select(title)}
          checked={isSelected}
          onChange={({ nativeEvent }) => onToggle(media, "shiftKey" in nativeEvent && nativeEvent.shiftKey === true)}
        />
      </label>
      <p className="meta">
        <State tone={tone}>{word}</State>
        {detail !== null && <span className="clip detail">{detail}</span>}
        {resolution !== null && <span className="resolution">{resolution}</span>}
        <span className={detail === null ? "clip age" : "clip age beside"}>
          <Ago at={media.createdAt} />
        </span>
      </p>
    </li>
  );
});

function isPrivate({ playbackIds }: Media): boolean {
  return playbackIds.length > 0 && playbackIds.every(({ accessPolicy }) => accessPolicy === "private");
}
