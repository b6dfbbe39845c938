// How far a change to many media is, and what failed.

import { useEffect, useRef, useState } from "react";
import type { RequestError } from "../../../api/client.js";
import { Button } from "../../../parts/button.js";
import { Dialog } from "../../../parts/dialog.js";
import { bulkText } from "../../../text/bulk.js";
import { sentence, sentenceOf, text } from "../../../text/en.js";
import { mediaText } from "../../../text/media.js";
import type { RunState } from "./run.js";

/** Failures that are listed. */
const LISTED_MAX = 50;

interface Props {
  title: string;
  state: RunState;
  onStop: () => void;
  onAgain: () => void;
  onClose: () => void;
}

export function ProgressDialog({ title, state: { total, done, failed, isRunning }, onStop, onAgain, onClose }: Props) {
  const [isStopped, setStopped] = useState(false);
  const endsAtHeading = useRef(true);
  const ended = done.length + failed.length;
  const stop = () => {
    setStopped(true);
    onStop();
  };
  useEffect(() => {
    if (isRunning) setStopped(false);
  }, [isRunning]);
  const words = isRunning ? (isStopped ? bulkText.stopping : bulkText.progress(ended, total)) : bulkText.result(done.length, failed.length, total - ended);
  return (
    <Dialog title={title} endsAtHeading={endsAtHeading} onClose={isRunning ? stop : onClose}>
      <p className="small soft" role="status">
        {words}
      </p>
      <progress className="progress" aria-label={title} max={total} value={ended} />
      {!isRunning && failed.length > 0 && (
        <ul className="failures" aria-label={bulkText.failed} tabIndex={0}>
          {failed.slice(0, LISTED_MAX).map(({ media, error }) => (
            <li key={media.id}>
              <span className="clip strong" dir="auto">
                {mediaText.title(media)}
              </span>
              <span className="problem">{reasonOf(error)}</span>
            </li>
          ))}
          {failed.length > LISTED_MAX && <li className="soft">{bulkText.more(failed.length - LISTED_MAX)}</li>}
        </ul>
      )}
      <div className="row end">
        {isRunning ? (
          <Button data-autofocus isBusy={isStopped} onClick={stop}>
            {bulkText.stop}
          </Button>
        ) : (
          <>
            {failed.length > 0 && (
              <Button kind="primary" onClick={onAgain}>
                {bulkText.again}
              </Button>
            )}
            <Button onClick={onClose}>{text.close}</Button>
          </>
        )}
      </div>
    </Dialog>
  );
}

/** The rules that the fields break, else the sentence of the error. */
function reasonOf(error: RequestError | null): string {
  if (error === null) return bulkText.defect;
  const [first] = error.fields;
  return first === undefined ? sentenceOf(error) : sentence(`${first.field} ${first.message}`);
}
