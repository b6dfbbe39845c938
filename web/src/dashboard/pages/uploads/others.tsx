// Unfinished uploads of the workspace that this browser does not send: by others, by the API, by command.

import { useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { cancelUpload, readUnfinished, type UnfinishedUpload } from "../../api/uploads.js";
import type { Workspace } from "../../api/types.js";
import { Ago } from "../../parts/ago.js";
import { IconButton } from "../../parts/button.js";
import { DangerDialog } from "../../parts/danger-dialog.js";
import { Outline } from "../../parts/outline.js";
import { LoadProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { uploadsText } from "../../text/uploads.js";
import { Bar } from "../../upload-ui/bar.js";

/** Interval of reads while the page is visible. */
const ASK_EVERY_MS = 5_000;
const words = uploadsText.page;

interface Props {
  workspace: Workspace;
  maySend: boolean;
  /** Ids of the uploads in the queue of this browser. */
  mine: ReadonlySet<string>;
}

export function Others({ workspace, maySend, mine }: Props) {
  const list = useQuery({
    queryKey: ["workspace", workspace.id, "uploads", maySend],
    queryFn: () => readUnfinished(workspace.id, maySend),
    refetchInterval: ASK_EVERY_MS,
  });
  const error = requestError(list.error);
  const uploads = list.data?.uploads.filter(({ uploadId }) => !mine.has(uploadId)) ?? [];
  return (
    <section className="card" aria-labelledby="uploads-others">
      <header>
        <div className="words">
          <h2 id="uploads-others">{words.others}</h2>
          <p className="small soft">{words.othersLead}</p>
        </div>
      </header>
      {error !== null && (
        <div className="body">
          <LoadProblem error={error} onRetry={() => void list.refetch()} />
        </div>
      )}
      {list.data === undefined && error === null && (
        <div className="body">
          <Outline lines={2} />
        </div>
      )}
      {list.data !== undefined && uploads.length === 0 && <p className="body small soft">{words.noOthers}</p>}
      {uploads.length > 0 && (
        <ul className="uploads" aria-labelledby="uploads-others">
          {uploads.map((upload) => (
            <Other key={upload.uploadId} upload={upload} workspace={workspace} mayCancel={maySend} />
          ))}
        </ul>
      )}
      {list.data?.isCut && <p className="body xs faint">{words.more}</p>}
    </section>
  );
}

function Other({ upload, workspace, mayCancel }: { upload: UnfinishedUpload; workspace: Workspace; mayCancel: boolean }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const { uploadId, createdAt, keptBytes, sizeBytes, pushMediaSettings } = upload;
  const title = pushMediaSettings.title || words.untitled;
  const isStarted = upload.status !== "waiting";
  const cancel = async () => {
    setBusy(true);
    try {
      await cancelUpload(workspace.id, uploadId);
      showToast(uploadsText.cancelled);
      await client.invalidateQueries({ queryKey: ["workspace", workspace.id, "uploads"] });
    } catch (error) {
      requestError(error);
      showToast(uploadsText.notCancelled);
      setBusy(false);
      setAsking(false);
    }
  };
  return (
    <li>
      <div className="facts-of">
        <div className="row">
          <b className="small clip">
            <bdi>{title}</bdi>
          </b>
        </div>
        {isStarted && keptBytes !== null && sizeBytes !== null && <Bar label={title} share={keptBytes / sizeBytes} />}
        <div className="row wrap xs soft state-line">
          <span>{isStarted && keptBytes !== null ? words.kept(keptBytes, sizeBytes) : isStarted ? words.under : words.notStarted}</span>
          {createdAt !== null && (
            <span>
              {words.started} <Ago at={createdAt.toISOString()} />
            </span>
          )}
          {pushMediaSettings.creatorId !== undefined && <span className="clip">{words.byCreator(pushMediaSettings.creatorId)}</span>}
        </div>
      </div>
      {mayCancel && (
        <IconButton label={uploadsText.actions.of(title, uploadsText.actions.cancel)} onClick={() => setAsking(true)}>
          <X className="i" aria-hidden />
        </IconButton>
      )}
      {isAsking && (
        <DangerDialog title={uploadsText.cancelTitle} button={uploadsText.cancelButton} error={null} isBusy={isBusy} onConfirm={() => void cancel()} onClose={() => setAsking(false)}>
          <p>{uploadsText.cancelLead(title)}</p>
          <p>{uploadsText.cancelOthers}</p>
        </DangerDialog>
      )}
    </li>
  );
}
