// The form of a new workspace.

import { useState } from "react";
import { useCreateWorkspace } from "../../api/workspaces.js";
import { Button } from "../../parts/button.js";
import { Field } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { Panel } from "../../parts/panel.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { workspacesText } from "../../text/workspaces.js";

export function CreatePanel({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const create = useCreateWorkspace();
  const error = requestError(create.error);
  const words = workspacesText.create;
  const onSuccess = () => {
    showToast(words.done);
    onClose();
  };
  return (
    <Panel title={words.title}>
      <Form error={error} isBusy={create.isPending} onSubmit={() => create.mutate({ name }, { onSuccess })}>
        <div className="field-column">
          <Field
            label={words.name}
            hint={words.hint}
            name="workspace"
            autoComplete="off"
            required
            autoFocus
            value={name}
            problem={error?.of("name") ?? null}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
        <FormProblem error={error} shown={["name"]} />
        <div className="row">
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            {words.button}
          </Button>
          <Button kind="plain" onClick={onClose}>{text.cancel}</Button>
        </div>
      </Form>
    </Panel>
  );
}
