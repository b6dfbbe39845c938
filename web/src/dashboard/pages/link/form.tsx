// Name and password of a person who has a one-time link.

import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { sessionQuery, useLink } from "../../api/queries.js";
import type { OneTimeLink, Session } from "../../api/types.js";
import { Button } from "../../parts/button.js";
import { EmailField, Field, PasswordField } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { FormProblem, requestError, useWait } from "../../parts/problem.js";
import { text } from "../../text/en.js";

export function LinkForm({ link, secret }: { link: OneTimeLink; secret: string }) {
  const asksName = link.kind !== "reset";
  const [name, setName] = useState(link.name ?? "");
  const [password, setPassword] = useState("");
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const use = useLink();
  const error = requestError(use.error);
  const wait = useWait(error);
  const isBusy = use.isPending || wait > 0;
  const submit = () => {
    const onSuccess = (session: Session) => {
      client.clear(); // another person may have been signed in before
      client.setQueryData(sessionQuery.queryKey, session);
      navigate("/", { replace: true });
    };
    use.mutate(asksName ? { secret, name, password } : { secret, password }, { onSuccess });
  };
  return (
    <Form error={error} isBusy={isBusy} onSubmit={submit}>
      <EmailField label={text.field.email} readOnly value={link.email} />
      {asksName && (
        <Field
          label={text.field.name}
          name="name"
          autoComplete="name"
          required
          maxLength={80}
          autoFocus
          value={name}
          problem={error?.of("name") ?? null}
          onChange={(event) => setName(event.target.value)}
        />
      )}
      <PasswordField
        label={text.field.newPassword}
        name="new-password"
        autoComplete="new-password"
        hint={text.field.passwordHint}
        autoFocus={!asksName}
        value={password}
        problem={error?.of("password") ?? null}
        onChange={(event) => setPassword(event.target.value)}
      />
      <FormProblem error={error} shown={asksName ? ["name", "password"] : ["password"]} />
      <Button type="submit" kind="primary" size="wide" isBusy={isBusy}>
        {wait > 0 ? text.error.tryAgainIn(wait) : text.link.buttons[link.kind]}
      </Button>
    </Form>
  );
}
