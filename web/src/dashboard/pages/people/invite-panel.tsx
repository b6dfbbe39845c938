// The form of an invitation.

import { useState } from "react";
import { type MadeLink, useInvite } from "../../api/people.js";
import type { Role } from "../../api/types.js";
import { Button } from "../../parts/button.js";
import { EmailField } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { Panel } from "../../parts/panel.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { text } from "../../text/en.js";
import { peopleText } from "../../text/people.js";
import { RoleChoice } from "./role-choice.js";

export function InvitePanel({ onMade, onClose }: { onMade: (link: MadeLink) => void; onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("member");
  const invite = useInvite(onMade);
  const error = requestError(invite.error);
  return (
    <Panel title={peopleText.invite.title}>
      <Form error={error} isBusy={invite.isPending} onSubmit={() => invite.mutate({ email, role })}>
        <div className="field-column">
          <EmailField
            label={text.field.email}
            hint={peopleText.invite.emailHint}
            autoFocus
            value={email}
            problem={error?.of("email") ?? null}
            onChange={(event) => setEmail(event.target.value)}
          />
        </div>
        <RoleChoice value={role} onChange={setRole} />
        <FormProblem error={error} shown={["email"]} />
        <div className="row">
          <Button type="submit" kind="primary" isBusy={invite.isPending}>
            {peopleText.invite.button}
          </Button>
          <Button kind="plain" onClick={onClose}>{text.cancel}</Button>
        </div>
      </Form>
    </Panel>
  );
}
