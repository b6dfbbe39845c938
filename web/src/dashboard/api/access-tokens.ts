// Access tokens of all workspaces.

import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { send } from "./client.js";
import type { AccessToken, NewAccessToken, Permission } from "./types.js";

export const accessTokensQuery = queryOptions({
  queryKey: ["accessTokens"],
  queryFn: () => send<AccessToken[]>("GET", "/access-tokens"),
});

/**
 * Creates a token and passes the answer to `onCreated`.
 *
 * The mutation has no data: what it has, react-query keeps, and the answer contains the secret.
 */
export function useCreateAccessToken(onCreated: (token: NewAccessToken) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (body: { name: string; workspaceId: string; permission: Permission }): Promise<void> =>
      onCreated(await send<NewAccessToken>("POST", "/access-tokens", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: accessTokensQuery.queryKey }),
  });
}

export function useRenameAccessToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) =>
      send<AccessToken>("PATCH", `/access-tokens/${encodeURIComponent(id)}`, { body: { name } }),
    onSuccess: (token) =>
      client.setQueryData(accessTokensQuery.queryKey, (tokens) => tokens?.map((other) => (other.id === token.id ? token : other))),
  });
}

/** Revokes a token. The list is current when the mutation has succeeded. */
export function useRevokeAccessToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => send("DELETE", `/access-tokens/${encodeURIComponent(id)}`),
    onSuccess: () => client.invalidateQueries({ queryKey: accessTokensQuery.queryKey }),
  });
}
