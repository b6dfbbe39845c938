// The role of a person.

import { useState } from "react";
import { useChangePerson } from "../../api/people.js";
import type { PersonEntry } from "../../api/types.js";
import { Button } from "../../parts/button.js";
import { Dialog } from "../../parts/dialog.js";
import { Form } from "../../parts/form.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { peopleText } from "../../text/people.js";
import { RoleChoice } from "./role-choice.js";

export interface PersonDialogProps {
  person: PersonEntry;
  isSelf: boolean;
  onClose: () => void;
}

export function RoleDialog({ person, isSelf, onClose }: PersonDialogProps) {
  const [role, setRole] = useState(person.role);
  const change = useChangePerson();
  const error = requestError(change.error);
  const onSuccess = () => {
    showToast(peopleText.role.changed);
    onClose();
  };
  return (
    <Dialog title={peopleText.role.title(person.name ?? person.email)} onClose={onClose}>
      <Form error={error} isBusy={change.isPending} onSubmit={() => change.mutate({ id: person.id, role }, { onSuccess })}>
        <RoleChoice value={role} onChange={setRole} />
        {isSelf && <p className="small">{peopleText.role.self}</p>}
        <FormProblem error={error} />
        <div className="row end">
          <Button onClick={onClose}>{text.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={change.isPending}>
            {peopleText.role.button}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
