// A change to the selected media: a dialog that asks, then the progress, then what failed.

import { useEffect, useRef, useState } from "react";
import type { Media } from "../../../api/media-types.js";
import type { Workspace } from "../../../api/types.js";
import { showToast } from "../../../parts/toast.js";
import { bulkText } from "../../../text/bulk.js";
import { DeleteDialog } from "./delete.js";
import { MetadataDialog } from "./metadata.js";
import { PlaylistDialog } from "./playlist.js";
import { ProgressDialog } from "./progress.js";
import { type RunState, startRun, type Step } from "./run.js";
import { SourceAccessDialog } from "./source-access.js";

export type BulkAction = "playlist" | "metadata" | "sourceAccess" | "delete";

export interface End {
  /** Media that do not exist any more. */
  removed: Set<string>;
  /** They stay selected. */
  failed: Media[];
  hasChanged: boolean;
}

interface Props {
  action: BulkAction;
  workspace: Workspace;
  media: Media[];
  onEnd: (end: End) => void;
}

/** Makes the requests for these media. The same function is used for those that failed. */
export type MakeSteps = (media: Media[]) => Step[];

export interface AskProps {
  workspace: Workspace;
  media: Media[];
  onStart: (makeSteps: MakeSteps, media: Media[]) => void;
  onCancel: () => void;
}

export default function Bulk({ action, workspace, media, onEnd }: Props) {
  const [run, setRun] = useState<{ state: RunState; makeSteps: MakeSteps } | null>(null);
  const doneBefore = useRef<Media[]>([]);
  const stop = useRef(() => {});
  useEffect(() => () => stop.current(), []);

  const start = (makeSteps: MakeSteps, chosen: Media[]) => {
    const steps = makeSteps(chosen);
    setRun({ makeSteps, state: { total: chosen.length, done: [], failed: [], isRunning: true } });
    stop.current = startRun(steps, (state) => setRun({ makeSteps, state }));
  };
  const done = run === null ? [] : [...doneBefore.current, ...run.state.done];
  const end = () => {
    const ids = new Set(done.map(({ id }) => id));
    onEnd({
      removed: action === "delete" ? ids : new Set(),
      failed: media.filter(({ id }) => !ids.has(id)),
      hasChanged: done.length > 0,
    });
  };
  const isComplete = run !== null && !run.state.isRunning && run.state.failed.length === 0 && run.state.done.length === run.state.total;
  useEffect(() => {
    if (!isComplete) return;
    showToast(bulkText.done[action](done.length));
    end();
  }, [isComplete]);

  if (run !== null) {
    return (
      <ProgressDialog
        title={bulkText.titles[action]}
        state={run.state}
        onStop={() => stop.current()}
        onAgain={() => {
          doneBefore.current = done;
          start(run.makeSteps, run.state.failed.map(({ media }) => media));
        }}
        onClose={end}
      />
    );
  }
  const ask: AskProps = { workspace, media, onStart: start, onCancel: () => onEnd({ removed: new Set(), failed: [], hasChanged: false }) };
  switch (action) {
    case "playlist":
      return <PlaylistDialog {...ask} />;
    case "metadata":
      return <MetadataDialog {...ask} />;
    case "sourceAccess":
      return <SourceAccessDialog {...ask} />;
    case "delete":
      return <DeleteDialog {...ask} />;
  }
}
