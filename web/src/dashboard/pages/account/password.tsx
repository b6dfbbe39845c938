// A new password.

import { useState } from "react";
import { useChangePassword, useSession } from "../../api/queries.js";
import { Button } from "../../parts/button.js";
import { Card } from "../../parts/card.js";
import { PasswordField } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { FormProblem, requestError, useWait } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";

export function NewPassword() {
  const { person } = useSession();
  const [password, setPassword] = useState("");
  const [newPassword, setNewPassword] = useState("");
  const change = useChangePassword();
  const error = requestError(change.error);
  const wait = useWait(error);
  const onSuccess = () => {
    change.reset(); // it holds both passwords
    setPassword("");
    setNewPassword("");
    showToast(text.account.passwordChanged);
  };
  const isBusy = change.isPending || wait > 0;
  return (
    <Card title={text.account.password} lead={text.account.passwordLead}>
      <Form error={error} isBusy={isBusy} onSubmit={() => change.mutate({ password, newPassword }, { onSuccess })}>
        {/* Password managers store the new password under this name. */}
        <input className="unseen" name="email" autoComplete="username" readOnly tabIndex={-1} aria-hidden value={person.email} />
        <PasswordField
          label={text.field.currentPassword}
          name="password"
          autoComplete="current-password"
          value={password}
          problem={error?.of("password") ?? null}
          onChange={(event) => setPassword(event.target.value)}
        />
        <PasswordField
          label={text.field.newPassword}
          name="new-password"
          autoComplete="new-password"
          hint={text.field.passwordHint}
          value={newPassword}
          problem={error?.of("newPassword") ?? null}
          onChange={(event) => setNewPassword(event.target.value)}
        />
        <FormProblem error={error} shown={["password", "newPassword"]} />
        <div>
          <Button type="submit" isBusy={isBusy}>
            {wait > 0 ? text.error.tryAgainIn(wait) : text.account.changePassword}
          </Button>
        </div>
      </Form>
    </Card>
  );
}
