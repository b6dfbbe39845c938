// The uploads of this browser in this workspace: what needs the person, what runs, what is finished.

import { Select } from "../../parts/select.js";
import { Button } from "../../parts/button.js";
import { uploadsText } from "../../text/uploads.js";
import { type Item, isUnfinished, mayRestart, mayRetry } from "../../upload/item.js";
import { AT_ONCE_MAX } from "../../upload/entries.js";
import type { Snapshot } from "../../upload/snapshot.js";
import { mayPause, needsFile, totalOf } from "../../upload-ui/shown.js";
import { useQueue } from "../../upload-ui/use-queue.js";
import { FilesAgain } from "./files-again.js";
import { Row } from "./row.js";

const words = uploadsText.page;
const actions = uploadsText.actions;

export function QueueList({ items, snapshot }: { items: Item[]; snapshot: Snapshot }) {
  const queue = useQueue();
  const open = items.filter(isUnfinished);
  const finished = items.filter((item) => !isUnfinished(item));
  const moving = open.filter((item) => mayPause(item, snapshot));
  const isOrdered = open.filter((item) => item.phase !== "failed").length > 1;
  const paused = open.filter(({ phase }) => phase === "paused");
  const failed = open.filter((item) => item.phase === "failed");
  const { left } = totalOf(open, snapshot);
  const idsOf = (some: Item[]) => some.map(({ id }) => id);
  const retryAll = () => {
    void queue.resume(idsOf(failed.filter(mayRetry)));
    void queue.restart(idsOf(failed.filter(mayRestart)));
  };
  return (
    <>
      <FilesAgain items={open.filter((item) => needsFile(item, snapshot))} />
      <section className="card" aria-labelledby="uploads-mine">
        <header>
          <div className="words">
            <h2 id="uploads-mine">{words.mine}</h2>
            {left !== null && <p className="xs faint">{left}</p>}
          </div>
          <div className="row wrap">
            {moving.length > 0 && (
              <Button size="small" onClick={() => void queue.pause(idsOf(moving))}>
                {actions.pauseAll}
              </Button>
            )}
            {paused.length > 0 && (
              <Button size="small" onClick={() => void queue.resume(idsOf(paused))}>
                {actions.resumeAll}
              </Button>
            )}
            {failed.some((item) => mayRetry(item) || mayRestart(item)) && (
              <Button size="small" onClick={retryAll}>
                {actions.retryAll}
              </Button>
            )}
          </div>
        </header>
        {open.length === 0 && <p className="body small soft">{words.none}</p>}
        <ul className="uploads" aria-label={words.queueName}>
          {open.map((item, index) => (
            <Row key={item.id} item={item} snapshot={snapshot} isFirst={index === 0} isLast={index === open.length - 1} isOrdered={isOrdered && item.phase !== "failed"} />
          ))}
        </ul>
        <footer className="row wrap small">
          <Select
            label={words.atOnce}
            options={Array.from({ length: AT_ONCE_MAX }, (_, index) => ({ value: String(index + 1), name: String(index + 1) }))}
            value={String(snapshot.atOnce)}
            onChange={(count) => queue.setAtOnce(Number(count))}
          />
          {!window.isSecureContext && <p className="hint">{uploadsText.plainHttp}</p>}
        </footer>
      </section>
      {finished.length > 0 && (
        <section className="card" aria-labelledby="uploads-finished">
          <header>
            <h2 id="uploads-finished">{words.finished}</h2>
            <Button size="small" onClick={() => void queue.remove(idsOf(finished.filter(({ phase }) => phase === "ready")))}>
              {actions.clear}
            </Button>
          </header>
          <ul className="uploads" aria-labelledby="uploads-finished">
            {finished.map((item) => (
              <Row key={item.id} item={item} snapshot={snapshot} isFirst isLast isOrdered={false} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
