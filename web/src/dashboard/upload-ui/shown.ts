// What the page says about an upload.

import { leftText } from "../../upload/pace.js";
import type { Tone } from "../parts/state.js";
import { uploadsText } from "../text/uploads.js";
import { type Item, isRunning, isUnfinished } from "../upload/item.js";
import type { Snapshot } from "../upload/snapshot.js";

export interface Shown {
  word: string;
  tone: Tone;
  /** Share of the file that is sent, 0 to 1; `null` where it is unknown. */
  share: number | null;
  /** "4.7 of 12.4 GB at 38 MB/s". The remaining time is that of all together (`totalOf`). */
  detail: string | null;
}

/** Whether it waits for its file: after a reload, or if it could not be read. */
export function needsFile(item: Item, { withFile }: Snapshot): boolean {
  return item.phase === "waiting" && !withFile.has(item.id);
}

/** Whether it is sent, or will be without the person. */
export function mayPause(item: Item, snapshot: Snapshot): boolean {
  return isRunning(item) || (item.phase === "waiting" && !needsFile(item, snapshot));
}

export function shownOf(item: Item, snapshot: Snapshot): Shown {
  const words = uploadsText.phase;
  const progress = snapshot.progress.get(item.id);
  const share = progress === undefined ? null : progress.bytes / item.size;
  const detail = progress === undefined ? uploadsText.size(item.size) : uploadsText.sent(progress.bytes, item.size);
  switch (item.phase) {
    case "waiting":
      if (!needsFile(item, snapshot)) return { word: words.waiting, tone: "plain", share, detail };
      return { word: item.handle === null ? words.noFile : words.needsClick, tone: "warn", share, detail };
    case "active": {
      if (progress === undefined) return { word: words.starting, tone: "busy", share: null, detail };
      const rate = progress.perSecond;
      const isLast = progress.bytes === item.size;
      const pace = isLast || rate === null ? "" : ` at ${uploadsText.rate(rate)}`;
      return { word: isLast ? words.lastBytes : words.sending, tone: "busy", share, detail: `${detail}${pace}` };
    }
    case "held":
      return { word: words.held, tone: "warn", share, detail };
    case "paused":
      return { word: words.paused, tone: "plain", share, detail };
    case "preparing":
      return { word: words.preparing, tone: "busy", share: 1, detail: uploadsText.size(item.size) };
    case "ready":
      return { word: words.ready, tone: "ok", share: null, detail: uploadsText.size(item.size) };
    case "failed":
      return { word: words.failed, tone: "bad", share: null, detail };
  }
}

/** Sums of all uploads of a workspace that are shown together. */
export function totalOf(items: Item[], snapshot: Snapshot): { share: number; left: string | null } {
  const { progress } = snapshot;
  const open = items.filter(({ phase }) => phase !== "failed");
  const size = open.reduce((sum, item) => sum + item.size, 0);
  const sent = open.reduce((sum, item) => sum + (isUnfinished(item) ? (progress.get(item.id)?.bytes ?? 0) : item.size), 0);
  // What is paused or held, or waits for its file, does not go on by itself.
  const moving = open.filter((item) => item.phase === "active" || (item.phase === "waiting" && !needsFile(item, snapshot)));
  const unsent = moving.reduce((sum, item) => sum + item.size - (progress.get(item.id)?.bytes ?? 0), 0);
  const rate = moving.reduce((sum, item) => sum + (item.phase === "active" ? (progress.get(item.id)?.perSecond ?? 0) : 0), 0);
  return { share: size === 0 ? 0 : sent / size, left: rate > 0 ? leftText(unsent / rate) : null };
}
