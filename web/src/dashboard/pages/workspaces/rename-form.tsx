// The name of a workspace, changed in its row.

import { useEffect, useState } from "react";
import { useRenameWorkspace } from "../../api/workspaces.js";
import type { WorkspaceEntry } from "../../api/types-organisation.js";
import { Button } from "../../parts/button.js";
import { Field } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { workspacesText } from "../../text/workspaces.js";

export function RenameForm({ workspace, onClose }: { workspace: WorkspaceEntry; onClose: () => void }) {
  const [name, setName] = useState(workspace.name);
  const [opener] = useState(() => document.activeElement);
  const rename = useRenameWorkspace();
  const error = requestError(rename.error);
  useEffect(
    () => () => {
      if (opener instanceof HTMLElement) opener.focus();
    },
    [opener],
  );
  const onSuccess = () => {
    showToast(workspacesText.rename.done);
    onClose();
  };
  return (
    <Form error={error} isBusy={rename.isPending} onSubmit={() => rename.mutate({ id: workspace.id, name }, { onSuccess })}>
      <Field
        label={workspacesText.rename.field(workspace.name)}
        name="workspace"
        autoComplete="off"
        required
        autoFocus
        value={name}
        problem={error?.of("name") ?? null}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
        }}
      />
      <FormProblem error={error} shown={["name"]} />
      <div className="row">
        <Button type="submit" size="small" isBusy={rename.isPending}>
          {text.save}
        </Button>
        <Button size="small" kind="plain" onClick={onClose}>
          {text.cancel}
        </Button>
      </div>
    </Form>
  );
}
