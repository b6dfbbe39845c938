// The organisation itself.

import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { send } from "./client.js";
import { doorQuery, sessionQuery } from "./queries.js";
import type { Organisation } from "./types.js";

export const organisationQuery = queryOptions({
  queryKey: ["organisation"],
  queryFn: () => send<Organisation>("GET", "/organisation"),
});

/** Changes the name: the side bar shows it at once. */
export function useChangeOrganisation() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { name: string }) => send<Organisation>("PATCH", "/organisation", { body }),
    onSuccess: async (organisation) => {
      const { id, name } = organisation;
      client.setQueryData(organisationQuery.queryKey, organisation);
      client.setQueryData(sessionQuery.queryKey, (session) => (session ? { ...session, organisation: { id, name } } : session));
      await client.invalidateQueries({ queryKey: doorQuery.queryKey });
    },
  });
}
