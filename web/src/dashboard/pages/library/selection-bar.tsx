// What is done to the selected media, in a bar at the bottom of the window.

import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Copy, ListPlus, Tags, Trash2, Unlock, X } from "lucide-react";
import { type MediaFilter, readMediaPage } from "../../api/media-list.js";
import type { Media } from "../../api/media-types.js";
import { useSession } from "../../api/queries.js";
import type { Workspace } from "../../api/types.js";
import { focusHeading } from "../../frame/page.js";
import { Button, IconButton } from "../../parts/button.js";
import { CopyButton } from "../../parts/copy.js";
import { requestError } from "../../parts/problem.js";
import { sentenceOf } from "../../text/en.js";
import { libraryText } from "../../text/library.js";
import type { BulkAction } from "./bulk/bulk.js";
import type { Selection } from "./selection.js";

const Bulk = lazy(() => import("./bulk/bulk.js"));

/** Media of one selection. */
export const SELECTED_MAX = 500;

interface Props {
  workspace: Workspace;
  filter: MediaFilter;
  shown: Media[];
  total: number;
  isTotalLowerBound: boolean;
  selection: Selection;
  /** These do not exist any more. */
  onRemoved: (ids: Set<string>) => void;
  onChanged: () => void;
}

export function SelectionBar({ workspace, filter, shown, total, isTotalLowerBound, selection, onRemoved, onChanged }: Props) {
  const { actions } = useSession();
  const [action, setAction] = useState<BulkAction | null>(null);
  const [isSelecting, setSelecting] = useState(false);
  const [problem, setProblem] = useState("");
  const run = useRef<AbortController | null>(null);
  // The bar closes with the selection: by its button, Escape, or another filter.
  useEffect(() => () => run.current?.abort(), [filter]);
  const { chosen } = selection;
  const mayChange = actions.includes("media.change");
  const ids = [...chosen.keys()];

  const selectAll = async () => {
    const { signal } = (run.current = new AbortController());
    setSelecting(true);
    setProblem("");
    try {
      const media = await readAll(workspace.id, filter, signal);
      if (!signal.aborted) selection.set(media);
    } catch (error) {
      if (signal.aborted) return;
      const known = requestError(error);
      setProblem(known === null ? "" : sentenceOf(known));
    }
    setSelecting(false);
  };
  const clear = () => {
    run.current?.abort();
    selection.clear();
    focusHeading();
  };
  const isMore = isTotalLowerBound || total > SELECTED_MAX;
  const buttons = [
    { action: "playlist", icon: ListPlus, name: libraryText.playlist, isAllowed: actions.includes("playback.change") },
    { action: "metadata", icon: Tags, name: libraryText.setMetadata, isAllowed: mayChange },
    { action: "sourceAccess", icon: Unlock, name: libraryText.sourceAccess, isAllowed: mayChange },
  ] as const;
  return (
    <section className="selection" aria-label={libraryText.selection}>
      <p className="small strong" role="status">
        {problem || libraryText.selected(chosen.size)}
      </p>
      {chosen.size < Math.min(total, SELECTED_MAX) && (
        <Button size="small" kind="plain" isBusy={isSelecting} onClick={() => void selectAll()}>
          {isMore ? libraryText.selectFirst(SELECTED_MAX) : libraryText.selectAll(total)}
        </Button>
      )}
      <div className="buttons">
        {buttons.map(
          ({ action, icon: Icon, name, isAllowed }) =>
            isAllowed && (
              <Button key={action} size="small" onClick={() => setAction(action)}>
                <Icon className="i" aria-hidden />
                {name}
              </Button>
            ),
        )}
        <CopyButton value={ids.join("\n")}>
          <Copy className="i" aria-hidden />
          {libraryText.copyIds}
        </CopyButton>
        {mayChange && (
          <Button size="small" kind="danger" onClick={() => setAction("delete")}>
            <Trash2 className="i" aria-hidden />
            {libraryText.delete}
          </Button>
        )}
      </div>
      <IconButton label={libraryText.clearSelection} className="clear" onClick={clear}>
        <X className="i" aria-hidden />
      </IconButton>
      {action !== null && (
        <Suspense>
          <Bulk
            key={action}
            action={action}
            workspace={workspace}
            media={[...chosen.values()].map((media) => shown.find(({ id }) => id === media.id) ?? media)}
            onEnd={({ removed, failed, hasChanged }) => {
              setAction(null);
              if (removed.size > 0) onRemoved(removed);
              if (hasChanged) {
                onChanged();
                selection.set(failed);
              }
            }}
          />
        </Suspense>
      )}
    </section>
  );
}

/** The media that match, at most `SELECTED_MAX`. */
async function readAll(workspaceId: string, filter: MediaFilter, signal: AbortSignal): Promise<Media[]> {
  const all: Media[] = [];
  let cursor: string | null = null;
  do {
    const page = await readMediaPage(workspaceId, filter, cursor, signal);
    all.push(...page.entries);
    cursor = page.nextCursor;
  } while (cursor !== null && all.length < SELECTED_MAX);
  return all.slice(0, SELECTED_MAX);
}
