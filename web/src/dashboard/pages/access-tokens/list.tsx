// The list of tokens with its filters, which are part of the address.

import { useState } from "react";
import { useSearchParams } from "wouter";
import type { AccessToken, Permission } from "../../api/types.js";
import { Ago, Day } from "../../parts/ago.js";
import { Button } from "../../parts/button.js";
import { Choice } from "../../parts/choice.js";
import { Filter } from "../../parts/filter.js";
import { State, Tag } from "../../parts/state.js";
import { type Column, Table } from "../../parts/table.js";
import { accessTokensText as words } from "../../text/access-tokens.js";
import { organisationText } from "../../text/organisation.js";
import { Name } from "./name.js";
import { Revoke } from "./revoke.js";

/** A token this new is often unused. */
const NEW_MS = 24 * 60 * 60 * 1_000;
const PERMISSIONS: Permission[] = ["read-only", "read-write"];

export function List({ tokens }: { tokens: AccessToken[] }) {
  const [search, setSearch] = useSearchParams();
  const [revoking, setRevoking] = useState<AccessToken | null>(null);
  const show = search.get("show") === "revoked" ? "revoked" : "active";
  const permission = PERMISSIONS.find((known) => known === search.get("permission")) ?? "";
  const set = (name: string, value: string) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      // The state marks an entry that the Back button leaves first (`parts/ask-before-leaving.tsx`).
      { replace: true, state: history.state },
    );

  const active = tokens.filter(({ revokedAt }) => revokedAt === null);
  const revoked = tokens.filter(({ revokedAt }) => revokedAt !== null);
  const workspaces = new Map(tokens.map(({ workspace }) => [workspace.id, workspace.name]));
  const wanted = search.get("workspaceId") ?? "";
  const workspaceId = workspaces.has(wanted) ? wanted : "";
  const all = show === "active" ? active : revoked;
  const rows = all.filter(
    (token) => (workspaceId === "" || token.workspace.id === workspaceId) && (permission === "" || token.permission === permission),
  );
  const none = show === "active" ? words.show.noActive : words.show.noRevoked;
  return (
    <>
      <div className="toolbar">
        <Choice
          label={words.show.label}
          isLabelHidden
          names={words.show.names(active.length, revoked.length)}
          value={show}
          onChange={(next) => set("show", next === "revoked" ? next : "")}
        />
        {workspaces.size > 1 && (
          <Filter
            label={words.show.workspace}
            all={words.show.allWorkspaces}
            options={[...workspaces].map(([value, name]) => ({ value, name }))}
            value={workspaceId}
            onChange={(next) => set("workspaceId", next)}
          />
        )}
        <Filter
          label={words.show.permission}
          all={words.show.allPermissions}
          options={PERMISSIONS.map((value) => ({ value, name: words.permissions[value] }))}
          value={permission}
          onChange={(next) => set("permission", next)}
        />
      </div>
      {rows.length > 0 ? (
        <section className="card">
          <Table label={words.list} columns={columnsOf(show, setRevoking)} rows={rows} keyOf={({ id }) => id} />
        </section>
      ) : (
        <p className="small soft">{all.length > 0 ? words.show.noMatch : none}</p>
      )}
      {revoking !== null && <Revoke token={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}

function columnsOf(show: "active" | "revoked", revoke: (token: AccessToken) => void): Column<AccessToken>[] {
  const { columns } = words;
  const end: Column<AccessToken> =
    show === "active"
      ? {
          name: columns.actions,
          isNameHidden: true,
          isAtEnd: true,
          cell: (token) => (
            <Button kind="danger" size="small" aria-label={words.revoke.buttonOf(token)} onClick={() => revoke(token)}>
              {words.revoke.button}
            </Button>
          ),
        }
      : { name: columns.revoked, cell: ({ revokedAt }) => revokedAt !== null && <Ago at={revokedAt} /> };
  return [
    { name: columns.token, isMain: true, cell: (token) => <Name token={token} /> },
    { name: columns.workspace, isWideOnly: true, cell: ({ workspace }) => workspace.name },
    {
      name: columns.permission,
      cell: ({ permission }) => <Tag tone={permission === "read-write" ? "accent" : "plain"}>{words.permissions[permission].toLowerCase()}</Tag>,
    },
    { name: columns.lastUsed, cell: (token) => <LastUsed token={token} /> },
    { name: columns.created, isWideOnly: true, cell: (token) => <CreatedBy token={token} /> },
    end,
  ];
}

function LastUsed({ token: { lastUsedAt, createdAt, workspace } }: { token: AccessToken }) {
  const isNew = Date.now() - Date.parse(createdAt) < NEW_MS;
  return (
    <>
      <span className="thin xs faint workspace-of">{workspace.name} ·</span>
      {lastUsedAt === null ? <State tone={isNew ? "plain" : "warn"}>{organisationText.neverUsed}</State> : <Ago at={lastUsedAt} />}
    </>
  );
}

function CreatedBy({ token: { createdBy, createdAt } }: { token: AccessToken }) {
  const by = createdBy?.kind === "command" ? words.byCommand : createdBy?.kind === "person" ? (createdBy.name ?? words.byPerson) : words.byUnknown;
  return (
    <>
      <div className="soft">{by}</div>
      <div className="xs faint">
        <Day at={createdAt} />
      </div>
    </>
  );
}
