// The dialog before an empty workspace is deleted. If it has content meanwhile, the server names it.

import { useDeleteWorkspace } from "../../api/workspaces.js";
import type { WorkspaceEntry } from "../../api/types-organisation.js";
import { DangerDialog } from "../../parts/danger-dialog.js";
import { requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { workspacesText } from "../../text/workspaces.js";

export function DeleteDialog({ workspace, onClose }: { workspace: WorkspaceEntry; onClose: () => void }) {
  const remove = useDeleteWorkspace();
  const words = workspacesText.remove;
  const onSuccess = () => {
    showToast(words.done);
    onClose();
  };
  return (
    <DangerDialog
      title={words.title(workspace.name)}
      button={words.confirm}
      error={requestError(remove.error)}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate(workspace, { onSuccess })}
      onClose={onClose}
    >
      <p className="mono">{workspace.id}</p>
      <p>{words.what}</p>
    </DangerDialog>
  );
}
