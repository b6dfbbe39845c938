// `/` and addresses of workspaces: the overview, or why there is none.

import { lazy } from "react";
import { Link, Redirect, useParams } from "wouter";
import { useSession } from "../../api/queries.js";
import { useCurrentWorkspace } from "../../frame/frame.js";
import { Page } from "../../frame/page.js";
import { CopyBlock } from "../../parts/copy.js";
import { text } from "../../text/en.js";
import { workspaceCommand } from "./commands.js";

const HomePage = lazy(() => import("./home.js"));

/** `/`: the last workspace. */
export function LastWorkspace() {
  const workspace = useCurrentWorkspace(useSession());
  return workspace === null ? <NoWorkspace /> : <Redirect to={`/w/${workspace.id}`} replace />;
}

/** `/w/{workspaceId}`. */
export function WorkspaceOverview() {
  const { workspaceId } = useParams<{ workspaceId: string }>();
  const { workspaces } = useSession();
  const workspace = workspaces.find(({ id }) => id === workspaceId);
  if (workspace !== undefined) return <HomePage key={workspace.id} workspace={workspace} />;
  return workspaces.length === 0 ? <NoWorkspace /> : <UnknownWorkspace />;
}

function NoWorkspace() {
  return (
    <Page title={text.home.noneTitle} lead={text.home.none}>
      <CopyBlock value={workspaceCommand()} what={text.home.workspaceCommand} />
    </Page>
  );
}

function UnknownWorkspace() {
  const { workspaces } = useSession();
  return (
    <Page title={text.home.unknownTitle} lead={text.home.unknown}>
      <ul className="stack">
        {workspaces.map(({ id, name }) => (
          <li key={id}>
            <Link className="button" href={`/w/${id}`}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </Page>
  );
}
