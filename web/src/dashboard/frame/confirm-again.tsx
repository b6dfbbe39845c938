// The dialog before an operation that needs the password of the last 30 minutes. Waiting requests go on after
// it.

import { useState } from "react";
import { confirmation } from "../api/confirmation.js";
import { useConfirm, useSession } from "../api/queries.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { PasswordField } from "../parts/field.js";
import { Form } from "../parts/form.js";
import { FormProblem, requestError, useWait } from "../parts/problem.js";
import { text } from "../text/en.js";

export function ConfirmAgain() {
  const { person } = useSession();
  const [password, setPassword] = useState("");
  const confirm = useConfirm();
  const error = requestError(confirm.error);
  const wait = useWait(error);
  const isBusy = confirm.isPending || wait > 0;
  const submit = () => confirm.mutate({ password }, { onSuccess: () => confirmation.end(true) });
  const cancel = () => confirmation.end(false);
  return (
    <Dialog title={text.confirm.title} onClose={cancel}>
      <p className="small soft">{text.confirm.lead}</p>
      <Form error={error} isBusy={isBusy} onSubmit={submit}>
        {/* Password managers find the password by this name. */}
        <input
          className="unseen"
          name="email"
          autoComplete="username"
          readOnly
          tabIndex={-1}
          aria-hidden
          value={person.email}
        />
        <PasswordField
          label={text.field.password}
          name="password"
          autoComplete="current-password"
          data-autofocus
          value={password}
          problem={error?.of("password") ?? null}
          onChange={(event) => setPassword(event.target.value)}
        />
        <FormProblem error={error} shown={["password"]} />
        <div className="row end">
          <Button onClick={cancel}>{text.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            {wait > 0 ? text.error.tryAgainIn(wait) : text.confirm.button}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
