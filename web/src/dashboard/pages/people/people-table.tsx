// The people, oneself marked, with a menu of actions for administrators.

import { useState } from "react";
import type { MadeLink } from "../../api/people.js";
import { useSession } from "../../api/queries.js";
import type { PersonEntry } from "../../api/types.js";
import { Ago } from "../../parts/ago.js";
import { State, Tag } from "../../parts/state.js";
import { type Column, Table } from "../../parts/table.js";
import { text } from "../../text/en.js";
import { organisationText } from "../../text/organisation.js";
import { peopleText } from "../../text/people.js";
import { type DialogKind, PersonActions } from "./person-actions.js";
import { PersonDialog } from "./person-dialogs.js";

interface Props {
  people: PersonEntry[];
  mayManage: boolean;
  onLink: (link: MadeLink) => void;
}

export function PeopleTable({ people, mayManage, onLink }: Props) {
  const self = useSession().person.id;
  /** Not in the row, which goes with a person who is removed. */
  const [dialog, setDialog] = useState<{ kind: DialogKind; person: PersonEntry } | null>(null);
  const { columns: names } = peopleText;
  const columns: Column<PersonEntry>[] = [
    { name: names.person, isMain: true, cell: (person) => <Person person={person} isSelf={person.id === self} /> },
    { name: names.role, cell: ({ role }) => <Tag tone={role === "admin" ? "accent" : "plain"}>{text.role(role)}</Tag> },
    { name: names.seen, cell: (person) => <Seen person={person} /> },
  ];
  if (mayManage) {
    columns.push({
      name: names.actions,
      isNameHidden: true,
      isAtEnd: true,
      cell: (person) => <PersonActions person={person} onDialog={(kind) => setDialog({ kind, person })} onLink={onLink} />,
    });
  }
  return (
    <section className="card">
      <Table label={peopleText.list} columns={columns} rows={people} keyOf={({ id }) => id} classOf={({ isDisabled }) => (isDisabled ? "off" : undefined)} />
      {dialog !== null && (
        <PersonDialog kind={dialog.kind} person={dialog.person} isSelf={dialog.person.id === self} onClose={() => setDialog(null)} />
      )}
    </section>
  );
}

function Person({ person: { name, email }, isSelf }: { person: PersonEntry; isSelf: boolean }) {
  return (
    <>
      <p className="row wrap">
        <bdi className="strong">{name ?? email}</bdi>
        {isSelf && <Tag tone="ok">{peopleText.self}</Tag>}
      </p>
      {name !== null && <p className="xs faint">{email}</p>}
    </>
  );
}

function Seen({ person: { isDisabled, canSignIn, seenAt } }: { person: PersonEntry }) {
  const state = isDisabled ? peopleText.disabled : canSignIn ? null : peopleText.noPassword;
  return (
    <>
      {state !== null && (
        <p>
          <State tone={isDisabled ? "bad" : "warn"}>{state}</State>
        </p>
      )}
      {seenAt !== null ? <Ago at={seenAt} /> : state === null && <span className="faint">{organisationText.never}</span>}
    </>
  );
}
