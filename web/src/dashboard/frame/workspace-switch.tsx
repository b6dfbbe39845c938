// The workspace that is shown, and a menu of all.

import { Check, ChevronsUpDown } from "lucide-react";
import { Link } from "wouter";
import type { Session, Workspace } from "../api/types.js";
import { Menu } from "../parts/menu.js";
import { text } from "../text/en.js";

interface Props {
  session: Session;
  current: Workspace | null;
  /** In the bar of a narrow screen. */
  isPlain?: boolean;
}

export function WorkspaceSwitch({ session, current, isPlain = false }: Props) {
  const name = current?.name ?? text.nav.noWorkspace;
  if (session.workspaces.length === 0) return null;
  return (
    <Menu
      label={text.nav.workspaces}
      className={isPlain ? "plainswitch" : "switch"}
      button={
        <>
          <span className="unseen">{text.nav.workspace}</span>
          {!isPlain && <span className="dot" />}
          <span className="stack none">
            <b className="clip">{name}</b>
            {!isPlain && <span className="xs faint clip">{session.organisation.name}</span>}
          </span>
          <ChevronsUpDown className="i end faint" aria-hidden />
        </>
      }
    >
      <p className="title" aria-hidden>
        {text.nav.workspaces}
      </p>
      <ul>
        {session.workspaces.map(({ id, name }) => (
          <li key={id}>
            <Link href={`/w/${id}`} className="item" data-closes aria-current={id === current?.id ? "true" : undefined}>
              <span className="clip">{name}</span>
              {id === current?.id && <Check className="i end" aria-hidden />}
            </Link>
          </li>
        ))}
      </ul>
    </Menu>
  );
}
