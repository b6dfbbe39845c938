// The uploads of the workspace in a corner of each page, but on the page of uploads.

import { useEffect, useRef, useState } from "react";
import { ChevronDown, ChevronUp, Pause, Play, X } from "lucide-react";
import { Link } from "wouter";
import type { Workspace } from "../api/types.js";
import { IconButton } from "../parts/button.js";
import { uploadsText } from "../text/uploads.js";
import { type Item, isRunning, isUnfinished } from "../upload/item.js";
import type { Snapshot } from "../upload/snapshot.js";
import { Bar } from "./bar.js";
import { mayPause, needsFile, shownOf, totalOf } from "./shown.js";
import { useQueue, useSnapshot } from "./use-queue.js";

/** Uploads in the tray; the page has all. */
const SHOWN_MAX = 3;
/** Interval of announcements for screen readers. */
const ANNOUNCE_EVERY_MS = 5_000;
const words = uploadsText.tray;

export function Tray({ workspace, isHidden }: { workspace: Workspace; isHidden: boolean }) {
  const queue = useQueue();
  const snapshot = useSnapshot();
  // On a small screen it would hide the page.
  const [isFolded, setFolded] = useState(() => matchMedia("(max-width: 720px)").matches);
  // What the person has closed stays closed until something new is added.
  const [closedAt, setClosedAt] = useState(0);
  const items = snapshot.items.filter((item) => item.workspaceId === workspace.id && (item.phase !== "ready" || item.addedAt >= shownSince) && item.addedAt > closedAt);
  const sentence = sentenceOf(items, snapshot);
  const { share, left } = totalOf(items, snapshot);
  const announcement = useAnnouncement(items.some(isRunning) ? words.announce(sentence, Math.floor(share * 100)) : sentence);

  const isShown = items.length > 0 && !isHidden;
  const open = items.filter(isUnfinished);
  const moving = open.filter((item) => mayPause(item, snapshot));
  const paused = open.filter(({ phase }) => phase === "paused");
  const rows = [...items].sort((one, other) => rank(one) - rank(other)).slice(0, SHOWN_MAX);
  return (
    <>
      <p className="unseen" role="status" data-uploads>
        {items.length > 0 && announcement}
      </p>
      {isShown && (
        <section className="tray" aria-label={words.name}>
          {items.some(isRunning) && <Bar label={sentence} share={share} />}
          <header>
            <div className="words">
              <p className="strong small">{sentence}</p>
              {left !== null && <p className="xs faint">{left}</p>}
            </div>
            <span className="row tight end">
              {moving.length > 0 && (
                <IconButton label={uploadsText.actions.pauseAll} onClick={() => void queue.pause(moving.map(({ id }) => id))}>
                  <Pause className="i" aria-hidden />
                </IconButton>
              )}
              {moving.length === 0 && paused.length > 0 && (
                <IconButton label={uploadsText.actions.resumeAll} onClick={() => void queue.resume(paused.map(({ id }) => id))}>
                  <Play className="i" aria-hidden />
                </IconButton>
              )}
              <IconButton label={isFolded ? uploadsText.actions.unfold : uploadsText.actions.fold} aria-expanded={!isFolded} onClick={() => setFolded(!isFolded)}>
                {isFolded ? <ChevronUp className="i" aria-hidden /> : <ChevronDown className="i" aria-hidden />}
              </IconButton>
              {!items.some(isRunning) && (
                <IconButton label={uploadsText.actions.close} onClick={() => setClosedAt(Date.now())}>
                  <X className="i" aria-hidden />
                </IconButton>
              )}
            </span>
          </header>
          {!isFolded && (
            <>
              <ul>
                {rows.map((item) => (
                  <Row key={item.id} item={item} snapshot={snapshot} />
                ))}
              </ul>
              <footer className="row xs">
                <Link href={`/w/${workspace.id}/uploads`}>{words.all}</Link>
                {!snapshot.isSender && items.some(isRunning) && <span className="faint">{words.otherTab}</span>}
              </footer>
            </>
          )}
        </section>
      )}
    </>
  );
}

function Row({ item, snapshot }: { item: Item; snapshot: Snapshot }) {
  const { word, share, detail } = shownOf(item, snapshot);
  const title = item.settings.title || item.name;
  const isMoving = share !== null && isUnfinished(item);
  return (
    <li>
      <div className="row">
        <span className="small strong clip">
          {item.phase === "ready" ? <Link href={`/w/${item.workspaceId}/media/${item.uploadId}`}>{title}</Link> : <bdi>{title}</bdi>}
        </span>
        <span className="xs faint num end nowrap">{isMoving ? uploadsText.percent(share) : word}</span>
      </div>
      {isMoving && <Bar label={title} share={share} />}
      <p className="xs faint num clip">{item.problem?.title ?? detail}</p>
    </li>
  );
}

/** Uploads that were finished before this page was loaded are not in the tray. */
const shownSince = Date.now();

/** Those that move first, then those that wait for the person. */
function rank({ phase, order }: Item): number {
  const groups = ["active", "held", "preparing", "failed", "waiting", "paused", "ready"];
  return groups.indexOf(phase) * 1e9 + order;
}

function sentenceOf(items: Item[], snapshot: Snapshot): string {
  const open = items.filter(isUnfinished);
  const count = (isMeant: (item: Item) => boolean) => open.filter(isMeant).length;
  const failed = count(({ phase }) => phase === "failed");
  if (open.some(isRunning)) {
    const finished = items.length - open.length;
    return words.running(items.length - failed, finished);
  }
  if (failed > 0) return words.failed(failed);
  const waiting = count((item) => item.phase === "waiting" || needsFile(item, snapshot));
  if (waiting > 0) return words.waitingFor(waiting);
  if (open.length > 0) return words.waiting(open.length);
  return words.done(items.length);
}

/** The sentence, changed at most every 5 s. */
function useAnnouncement(sentence: string): string {
  const [announced, setAnnounced] = useState("");
  const latest = useRef(sentence);
  latest.current = sentence;
  useEffect(() => {
    const timer = setInterval(() => setAnnounced(latest.current), ANNOUNCE_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return announced;
}
