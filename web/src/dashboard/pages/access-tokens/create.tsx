// The form of a new token.

import { useState } from "react";
import { useCreateAccessToken } from "../../api/access-tokens.js";
import { useSession } from "../../api/queries.js";
import type { NewAccessToken, Permission } from "../../api/types.js";
import { useCurrentWorkspace } from "../../frame/frame.js";
import { Button } from "../../parts/button.js";
import { Choice } from "../../parts/choice.js";
import { Field } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { Panel } from "../../parts/panel.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { Select } from "../../parts/select.js";
import { accessTokensText } from "../../text/access-tokens.js";
import { text } from "../../text/en.js";

interface Props {
  onCreated: (token: NewAccessToken) => void;
  onClose: () => void;
}

export function Create({ onCreated, onClose }: Props) {
  const session = useSession();
  const current = useCurrentWorkspace(session);
  const [name, setName] = useState("");
  const [workspaceId, setWorkspaceId] = useState(current?.id ?? "");
  const [permission, setPermission] = useState<Permission>("read-only");
  const create = useCreateAccessToken(onCreated);
  const error = requestError(create.error);
  const words = accessTokensText.create;
  return (
    <Panel title={words.title}>
      <Form error={error} isBusy={create.isPending} onSubmit={() => create.mutate({ name, workspaceId, permission })}>
        <div className="pair">
          <Field
            label={text.field.name}
            name="token-name"
            autoComplete="off"
            autoFocus
            required
            maxLength={80}
            hint={words.nameHint}
            value={name}
            problem={error?.of("name") ?? null}
            onChange={(event) => setName(event.target.value)}
          />
          <Select
            label={words.workspace}
            options={session.workspaces.map(({ id, name }) => ({ value: id, name }))}
            value={workspaceId}
            problem={error?.of("workspaceId") ?? null}
            onChange={setWorkspaceId}
          />
        </div>
        <Choice
          label={words.permission}
          hint={words.permissionHint[permission]}
          names={accessTokensText.permissions}
          value={permission}
          onChange={setPermission}
        />
        <FormProblem error={error} shown={["name", "workspaceId"]} />
        <div className="row">
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            {words.button}
          </Button>
          <Button kind="plain" onClick={onClose}>
            {text.cancel}
          </Button>
        </div>
      </Form>
    </Panel>
  );
}
