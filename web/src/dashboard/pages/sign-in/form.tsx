// Email and password: on the sign-in page, and in the dialog above a page whose session has ended.

import { useState } from "react";
import { useSignIn } from "../../api/queries.js";
import type { Session } from "../../api/types.js";
import { Button } from "../../parts/button.js";
import { EmailField, PasswordField } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { FormProblem, requestError, useWait } from "../../parts/problem.js";
import { text } from "../../text/en.js";

interface Props {
  /** Address of the person who was signed in; the focus is on the password then. */
  email?: string;
  onSignedIn: (session: Session) => void;
}

export function SignInForm({ email: known = "", onSignedIn }: Props) {
  const [email, setEmail] = useState(known);
  const [password, setPassword] = useState("");
  const signIn = useSignIn();
  const error = requestError(signIn.error);
  const wait = useWait(error);
  const isBusy = signIn.isPending || wait > 0;
  return (
    <Form error={error} isBusy={isBusy} onSubmit={() => signIn.mutate({ email, password }, { onSuccess: onSignedIn })}>
      <EmailField
        label={text.field.email}
        autoFocus={known === ""}
        value={email}
        problem={error?.of("email") ?? null}
        onChange={(event) => setEmail(event.target.value)}
      />
      <PasswordField
        label={text.field.password}
        name="password"
        autoComplete="current-password"
        data-autofocus={known !== "" || undefined}
        value={password}
        problem={error?.of("password") ?? null}
        onChange={(event) => setPassword(event.target.value)}
        beside={
          known === "" && (
            <a className="end xs soft" href="#help">
              {text.signIn.forgotten}
            </a>
          )
        }
      />
      <FormProblem error={error} instead={error?.status === 401 ? text.signIn.wrong : undefined} shown={["email", "password"]} />
      <Button type="submit" kind="primary" size="wide" isBusy={isBusy}>
        {wait > 0 ? text.error.tryAgainIn(wait) : text.signIn.button}
      </Button>
    </Form>
  );
}
