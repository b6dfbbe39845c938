// The workspaces, each with its ID, and what can be done with it.

import { useState } from "react";
import { Link } from "wouter";
import type { WorkspaceEntry } from "../../api/types-organisation.js";
import { Day } from "../../parts/ago.js";
import { Button } from "../../parts/button.js";
import { Copy } from "../../parts/copy.js";
import { State } from "../../parts/state.js";
import { type Column, Table } from "../../parts/table.js";
import { workspacesText } from "../../text/workspaces.js";
import { DeleteDialog } from "./delete-dialog.js";
import { RenameForm } from "./rename-form.js";

type Open = { workspace: WorkspaceEntry; what: "rename" | "delete" } | null;

export function WorkspacesTable({ workspaces }: { workspaces: WorkspaceEntry[] }) {
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  const isLast = workspaces.length === 1;
  const mayDelete = (workspace: WorkspaceEntry) => workspace.isEmpty && !isLast;
  const { columns: names } = workspacesText;
  const columns: Column<WorkspaceEntry>[] = [
    {
      name: names.name,
      isMain: true,
      cell: (workspace) =>
        open?.what === "rename" && open.workspace.id === workspace.id ? (
          <RenameForm workspace={workspace} onClose={close} />
        ) : (
          <Name workspace={workspace} />
        ),
    },
    { name: names.content, cell: (workspace) => <Content workspace={workspace} isLast={isLast} /> },
    { name: names.created, isWideOnly: true, cell: ({ createdAt }) => <Day at={createdAt} /> },
    {
      name: names.actions,
      isNameHidden: true,
      isAtEnd: true,
      cell: (workspace) => (
        <div className={workspaces.some(mayDelete) ? "row with-delete" : "row to-end"}>
          <Button size="small" aria-label={workspacesText.rename.of(workspace.name)} onClick={() => setOpen({ workspace, what: "rename" })}>
            {workspacesText.rename.button}
          </Button>
          {mayDelete(workspace) && (
            <Button size="small" kind="danger" aria-label={workspacesText.remove.of(workspace.name)} onClick={() => setOpen({ workspace, what: "delete" })}>
              {workspacesText.remove.button}
            </Button>
          )}
        </div>
      ),
    },
  ];
  return (
    <section className="card workspaces">
      <Table label={workspacesText.list} columns={columns} rows={workspaces} keyOf={({ id }) => id} />
      {open?.what === "delete" && <DeleteDialog workspace={open.workspace} onClose={close} />}
    </section>
  );
}

function Name({ workspace: { id, name } }: { workspace: WorkspaceEntry }) {
  return (
    <>
      <Link href={`/w/${id}`} className="strong">
        <bdi>{name}</bdi>
      </Link>
      <div className="row tight">
        <code className="mono faint clip" title={id}>
          {id}
        </code>
        <Copy className="tiny" value={id} what={workspacesText.id} />
      </div>
    </>
  );
}

/** Whether it is empty, and why it cannot be deleted. */
function Content({ workspace: { isEmpty }, isLast }: { workspace: WorkspaceEntry; isLast: boolean }) {
  return (
    <>
      <State tone={isEmpty ? "plain" : "ok"}>{isEmpty ? workspacesText.empty : workspacesText.inUse}</State>
      <p className="xs faint">{isLast ? workspacesText.last : isEmpty ? workspacesText.mayDelete : workspacesText.notEmpty}</p>
    </>
  );
}
