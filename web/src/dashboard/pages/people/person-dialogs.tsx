// The dialogs before a person gets another role, is disabled or removed.

import { useChangePerson, useRemovePerson } from "../../api/people.js";
import { DangerDialog } from "../../parts/danger-dialog.js";
import { requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { peopleText } from "../../text/people.js";
import type { DialogKind } from "./person-actions.js";
import { type PersonDialogProps, RoleDialog } from "./role-dialog.js";

export function PersonDialog({ kind, ...props }: PersonDialogProps & { kind: DialogKind }) {
  switch (kind) {
    case "role":
      return <RoleDialog {...props} />;
    case "disable":
      return <DisableDialog {...props} />;
    case "remove":
      return <RemoveDialog {...props} />;
  }
}

function DisableDialog({ person, isSelf, onClose }: PersonDialogProps) {
  const change = useChangePerson();
  const words = peopleText.disable;
  const onSuccess = () => {
    showToast(words.done);
    onClose();
  };
  return (
    <DangerDialog
      title={words.title(person.name ?? person.email)}
      button={words.button}
      error={requestError(change.error)}
      isBusy={change.isPending}
      onConfirm={() => change.mutate({ id: person.id, isDisabled: true }, { onSuccess })}
      onClose={onClose}
    >
      <p>{words.what}</p>
      <p>{isSelf ? words.self : words.later}</p>
    </DangerDialog>
  );
}

function RemoveDialog({ person, isSelf, onClose }: PersonDialogProps) {
  const remove = useRemovePerson();
  const words = peopleText.remove;
  const onSuccess = () => {
    showToast(words.done);
    onClose();
  };
  return (
    <DangerDialog
      title={words.title(person.name ?? person.email)}
      button={words.button}
      error={requestError(remove.error)}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate(person, { onSuccess })}
      onClose={onClose}
    >
      {person.name !== null && <p className="strong">{person.email}</p>}
      <p>{words.gone}</p>
      <p>{words.stays}</p>
      {isSelf && <p className="strong">{words.self}</p>}
    </DangerDialog>
  );
}
