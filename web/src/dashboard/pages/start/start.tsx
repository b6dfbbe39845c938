// `/` and addresses of workspaces: the page, or why there is none.

import type { ComponentType } from "react";
import { Link, Redirect, useParams } from "wouter";
import { useSession } from "../../api/queries.js";
import type { Workspace } from "../../api/types.js";
import { useCurrentWorkspace } from "../../frame/frame.js";
import { Page } from "../../frame/page.js";
import { CopyBlock } from "../../parts/copy.js";
import { text } from "../../text/en.js";
import { workspaceCommand } from "./commands.js";

/** A page of a workspace. It has a state of its own for each workspace. */
export type WorkspacePage = ComponentType<{ workspace: Workspace }>;

/** `/`: the last workspace. */
export function LastWorkspace() {
  const workspace = useCurrentWorkspace(useSession());
  return workspace === null ? <NoWorkspace /> : <Redirect to={`/w/${workspace.id}/library`} replace />;
}

/** `/w/{workspaceId}`. */
export function ToLibrary() {
  const { workspaceId } = useParams<{ workspaceId: string }>();
  return <Redirect to={`/w/${workspaceId}/library`} replace />;
}

/** A page of the workspace in the address. */
export function InWorkspace({ page: Shown }: { page: WorkspacePage }) {
  const { workspaceId } = useParams<{ workspaceId: string }>();
  const { workspaces } = useSession();
  const workspace = workspaces.find(({ id }) => id === workspaceId);
  if (workspace !== undefined) return <Shown key={workspace.id} workspace={workspace} />;
  return workspaces.length === 0 ? <NoWorkspace /> : <UnknownWorkspace />;
}

function NoWorkspace() {
  return (
    <Page title={text.start.noneTitle} lead={text.start.none}>
      <CopyBlock value={workspaceCommand()} what={text.start.workspaceCommand} />
    </Page>
  );
}

function UnknownWorkspace() {
  const { workspaces } = useSession();
  return (
    <Page title={text.start.unknownTitle} lead={text.start.unknown}>
      <ul className="stack">
        {workspaces.map(({ id, name }) => (
          <li key={id}>
            <Link className="button" href={`/w/${id}/library`}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </Page>
  );
}
