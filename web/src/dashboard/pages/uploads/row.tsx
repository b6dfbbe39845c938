// An upload of this browser: its state, and what can be done with it.

import { type KeyboardEvent, useState } from "react";
import { ArrowDown, ArrowUp, Pause, Play, X } from "lucide-react";
import { Link } from "wouter";
import { RequestError } from "../../api/client.js";
import { Button, IconButton } from "../../parts/button.js";
import { DangerDialog } from "../../parts/danger-dialog.js";
import { State } from "../../parts/state.js";
import { showToast } from "../../parts/toast.js";
import { uploadsText } from "../../text/uploads.js";
import { type Item, isUnfinished, mayRestart, mayRetry } from "../../upload/item.js";
import type { Snapshot } from "../../upload/snapshot.js";
import { Bar } from "../../upload-ui/bar.js";
import { mayPause, shownOf } from "../../upload-ui/shown.js";
import { useQueue } from "../../upload-ui/use-queue.js";

const words = uploadsText.actions;

interface Props {
  item: Item;
  snapshot: Snapshot;
  isFirst: boolean;
  isLast: boolean;
  /** Whether its position can be changed: others are under way too. */
  isOrdered: boolean;
}

export function Row(props: Props) {
  const { item, snapshot, isOrdered } = props;
  const queue = useQueue();
  const { word, tone, share, detail } = shownOf(item, snapshot);
  const { id, phase, problem, name, uploadId } = item;
  const title = item.settings.title || name;
  const isOpen = isUnfinished(item);
  const href = `/w/${item.workspaceId}/media/${uploadId}`;
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key] as -1 | 1 | undefined;
    if (!event.altKey || by === undefined || !isOrdered) return;
    event.preventDefault();
    void queue.move(id, by);
  };
  return (
    <li onKeyDown={onKey}>
      <div className="facts-of">
        <div className="row">
          <b className="small clip">{phase === "ready" || phase === "preparing" ? <Link href={href}>{title}</Link> : <bdi>{title}</bdi>}</b>
          {isOpen && share !== null && <span className="xs faint nowrap num end">{uploadsText.percent(share)}</span>}
        </div>
        {isOpen && share !== null && <Bar label={title} share={share} />}
        <div className="row wrap xs soft state-line">
          <State tone={tone}>{word}</State>
          {detail !== null && <span className="num">{detail}</span>}
          {title !== name && (
            <span className="clip faint">
              · <bdi>{name}</bdi>
            </span>
          )}
        </div>
        {problem !== null && (phase === "failed" || phase === "held") && (
          <p className={phase === "failed" ? "small problem" : "small soft"} role={phase === "failed" ? "alert" : undefined}>
            <b>{problem.title}.</b> {problem.text}
          </p>
        )}
        {phase === "failed" && (
          <div className="row wrap">
            {mayRetry(item) && (
              <Button size="small" onClick={() => void queue.resume([id])}>
                {words.tryAgain}
              </Button>
            )}
            {mayRestart(item) && (
              <Button size="small" onClick={() => void queue.restart([id])}>
                {words.startAgain}
              </Button>
            )}
            {problem?.isFileAtFault === true && (
              <Link className="button small" href={href}>
                {words.openFailed}
              </Link>
            )}
          </div>
        )}
      </div>
      <Buttons {...props} title={title} />
    </li>
  );
}

function Buttons({ item, snapshot, title, isFirst, isLast, isOrdered }: Props & { title: string }) {
  const queue = useQueue();
  const [isAsking, setAsking] = useState(false);
  const [cancelling, setCancelling] = useState<{ error: RequestError | null } | null>(null);
  const { id, phase, uploadId } = item;
  const named = (what: string) => words.of(title, what);
  const cancel = () => {
    setCancelling({ error: null });
    queue.cancel(id).then(
      () => showToast(uploadsText.cancelled),
      (error: unknown) => {
        setCancelling(null);
        setAsking(false);
        showToast(error instanceof RequestError && error.status === 400 ? uploadsText.complete : uploadsText.notCancelled);
      },
    );
  };
  if (!isUnfinished(item)) {
    return (
      <div className="row tight buttons">
        <Link className="button small moves" href={`/w/${item.workspaceId}/media/${uploadId}`}>
          {words.open}
        </Link>
        {phase === "ready" && (
          <IconButton label={named(words.remove)} onClick={() => void queue.remove([id])}>
            <X className="i" aria-hidden />
          </IconButton>
        )}
      </div>
    );
  }
  return (
    <div className="row tight buttons">
      <div className="row tight moves">
        {mayPause(item, snapshot) && (
          <IconButton label={named(words.pause)} onClick={() => void queue.pause([id])}>
            <Pause className="i" aria-hidden />
          </IconButton>
        )}
        {phase === "paused" && (
          <IconButton label={named(words.resume)} onClick={() => void queue.resume([id])}>
            <Play className="i" aria-hidden />
          </IconButton>
        )}
        {isOrdered && (
          <>
            <IconButton label={named(words.earlier)} aria-disabled={isFirst || undefined} onClick={() => void queue.move(id, -1)}>
              <ArrowUp className="i" aria-hidden />
            </IconButton>
            <IconButton label={named(words.later)} aria-disabled={isLast || undefined} onClick={() => void queue.move(id, 1)}>
              <ArrowDown className="i" aria-hidden />
            </IconButton>
          </>
        )}
      </div>
      <IconButton label={named(phase === "failed" ? words.remove : words.cancel)} onClick={() => (uploadId === null || phase === "failed" ? cancel() : setAsking(true))}>
        <X className="i" aria-hidden />
      </IconButton>
      {isAsking && (
        <DangerDialog
          title={uploadsText.cancelTitle}
          button={uploadsText.cancelButton}
          error={null}
          isBusy={cancelling !== null}
          onConfirm={cancel}
          onClose={() => setAsking(false)}
        >
          <p>{uploadsText.cancelLead(title)}</p>
        </DangerDialog>
      )}
    </div>
  );
}
