// Name and email.

import { useState } from "react";
import { useChangeMe, useSession } from "../../api/queries.js";
import { Button } from "../../parts/button.js";
import { Card } from "../../parts/card.js";
import { EmailField, Field } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";

export function Profile() {
  const { person } = useSession();
  const [name, setName] = useState(person.name ?? "");
  const change = useChangeMe();
  const error = requestError(change.error);
  const submit = () => change.mutate({ name }, { onSuccess: () => showToast(text.account.nameSaved) });
  return (
    <Card title={text.account.profile}>
      <Form error={error} isBusy={change.isPending} onSubmit={submit}>
        <Field
          label={text.field.name}
          name="name"
          autoComplete="name"
          required
          maxLength={80}
          value={name}
          problem={error?.of("name") ?? null}
          onChange={(event) => setName(event.target.value)}
        />
        <EmailField label={text.field.email} readOnly value={person.email} hint={text.account.emailHint} />
        <FormProblem error={error} shown={["name"]} />
        <div>
          <Button type="submit" kind="primary" isBusy={change.isPending}>
            {text.save}
          </Button>
        </div>
      </Form>
    </Card>
  );
}
