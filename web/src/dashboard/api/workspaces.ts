// The workspaces of the organisation. A change is at once in the session too, whose list the switch shows.

import { type QueryClient, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { send } from "./client.js";
import { sessionQuery } from "./queries.js";
import type { Workspace } from "./types.js";
import type { WorkspaceEntry } from "./types-organisation.js";

export const workspacesQuery = queryOptions({
  queryKey: ["workspaces"],
  queryFn: () => send<WorkspaceEntry[]>("GET", "/workspaces"),
});

export function useCreateWorkspace() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { name: string }) => send<WorkspaceEntry>("POST", "/workspaces", { body }),
    onSuccess: ({ id, name }) => show(client, (workspaces) => [...workspaces, { id, name }]),
    onSettled: () => readAgain(client),
  });
}

export function useRenameWorkspace() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) => send<WorkspaceEntry>("PATCH", pathOf(id), { body: { name } }),
    onSuccess: (changed) => {
      client.setQueryData(workspacesQuery.queryKey, (entries) => entries?.map((entry) => (entry.id === changed.id ? changed : entry)));
      show(client, (workspaces) =>
        workspaces.map((workspace) => (workspace.id === changed.id ? { ...workspace, name: changed.name } : workspace)),
      );
    },
    onSettled: () => readAgain(client),
  });
}

export function useDeleteWorkspace() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id }: WorkspaceEntry) => send("DELETE", pathOf(id)),
    onSuccess: (_answer, { id }) => {
      client.removeQueries({ queryKey: ["workspace", id] });
      show(client, (workspaces) => workspaces.filter((workspace) => workspace.id !== id));
    },
    onSettled: () => readAgain(client),
  });
}

function pathOf(id: string): string {
  return `/workspaces/${encodeURIComponent(id)}`;
}

/** Changes the list of the session. */
function show(client: QueryClient, change: (workspaces: Workspace[]) => Workspace[]): void {
  client.setQueryData(sessionQuery.queryKey, (session) => (session ? { ...session, workspaces: change(session.workspaces) } : session));
}

async function readAgain(client: QueryClient): Promise<void> {
  await Promise.all([workspacesQuery, sessionQuery].map(({ queryKey }) => client.invalidateQueries({ queryKey })));
}
