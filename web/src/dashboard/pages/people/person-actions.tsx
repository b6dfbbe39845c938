// The menu of one person.

import { Ellipsis } from "lucide-react";
import { type MadeLink, useChangePerson, useResetLink } from "../../api/people.js";
import type { PersonEntry } from "../../api/types.js";
import { Menu } from "../../parts/menu.js";
import { requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { sentenceOf } from "../../text/en.js";
import { peopleText } from "../../text/people.js";

/** What a dialog asks for first. */
export type DialogKind = "role" | "disable" | "remove";

interface Props {
  person: PersonEntry;
  onDialog: (kind: DialogKind) => void;
  onLink: (link: MadeLink) => void;
}

export function PersonActions({ person, onDialog, onLink }: Props) {
  const reset = useResetLink(onLink);
  const change = useChangePerson();
  const name = person.name ?? person.email;
  const onError = (error: unknown) => {
    const shown = requestError(error);
    if (shown !== null) showToast(sentenceOf(shown));
  };
  const enable = () =>
    change.mutate({ id: person.id, isDisabled: false }, { onSuccess: () => showToast(peopleText.enable.done), onError });
  return (
    <Menu
      label={peopleText.actionsOf(name)}
      className="iconb"
      button={
        <>
          <Ellipsis className="i" aria-hidden />
          <span className="unseen">{peopleText.actionsOf(name)}</span>
        </>
      }
    >
      <Item onClick={() => onDialog("role")}>{peopleText.role.open}</Item>
      {person.isDisabled ? (
        <Item onClick={enable}>{peopleText.enable.open}</Item>
      ) : (
        <>
          <Item onClick={() => reset.mutate(person, { onError })}>{person.canSignIn ? peopleText.reset.open : peopleText.reset.openSetup}</Item>
          <Item onClick={() => onDialog("disable")}>{peopleText.disable.open}</Item>
        </>
      )}
      <hr />
      <Item isDanger onClick={() => onDialog("remove")}>
        {peopleText.remove.open}
      </Item>
    </Menu>
  );
}

function Item({ isDanger = false, onClick, children }: { isDanger?: boolean; onClick: () => void; children: string }) {
  return (
    <button type="button" className={isDanger ? "item danger" : "item"} data-closes onClick={onClick}>
      {children}
    </button>
  );
}
