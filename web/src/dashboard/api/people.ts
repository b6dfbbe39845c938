// The people of the organisation, and the links that let them in.
//
// A link is in no cache: the page that asked for it gets it by `onMade`, and mutations return nothing of it.

import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { newDocument } from "../frame/leave.js";
import { forgetAll } from "../frame/memory.js";
import { send } from "./client.js";
import { sessionQuery, useSession } from "./queries.js";
import type { LinkKind, PersonEntry, Role, Timestamp } from "./types.js";
import type { Invitation, NewInvitation, NewLink } from "./types-organisation.js";

export const peopleQuery = queryOptions({ queryKey: ["people"], queryFn: () => send<PersonEntry[]>("GET", "/people") });

export const invitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: () => send<Invitation[]>("GET", "/invitations"),
});

/** A one-time link. It is a secret. */
export interface MadeLink {
  kind: LinkKind;
  email: string;
  url: string;
  endsAt: Timestamp;
}

type OnMade = (link: MadeLink) => void;

/** Makes an invitation. */
export function useInvite(onMade: OnMade) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (body: { email: string; role: Role }) => {
      const { email, url, endsAt } = await send<NewInvitation>("POST", "/invitations", { body });
      onMade({ kind: "invitation", email, url, endsAt });
    },
    onSuccess: () => client.invalidateQueries({ queryKey: invitationsQuery.queryKey }),
  });
}

/** Takes an invitation back. */
export function useTakeBack() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id }: Invitation) => send("DELETE", `/invitations/${encodeURIComponent(id)}`),
    onSettled: () => client.invalidateQueries({ queryKey: invitationsQuery.queryKey }),
  });
}

/** Makes a link that sets a new password, or the first one. */
export function useResetLink(onMade: OnMade) {
  return useMutation({
    mutationFn: async ({ id, email }: PersonEntry) => {
      const link = await send<NewLink>("POST", `${pathOf(id)}/reset`, { body: {} });
      onMade({ kind: link.kind, email, url: link.url, endsAt: link.endsAt });
    },
  });
}

/** Changes role or state of a person. */
export function useChangePerson() {
  const client = useQueryClient();
  const self = useSession().person.id;
  return useMutation({
    mutationFn: ({ id, ...body }: { id: string; role?: Role; isDisabled?: boolean }) =>
      send<PersonEntry>("PATCH", pathOf(id), { body }),
    onSuccess: async (changed) => {
      if (changed.id === self && changed.isDisabled) return leave();
      client.setQueryData(peopleQuery.queryKey, (people) => people?.map((person) => (person.id === changed.id ? changed : person)));
      // With another role this person may do other things.
      if (changed.id === self) await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
    },
    onSettled: () => client.invalidateQueries({ queryKey: peopleQuery.queryKey }),
  });
}

/** Removes a person. */
export function useRemovePerson() {
  const client = useQueryClient();
  const self = useSession().person.id;
  return useMutation({
    mutationFn: ({ id }: PersonEntry) => send("DELETE", pathOf(id)),
    onSuccess: (_answer, { id }) => (id === self ? leave() : undefined),
    onSettled: (_answer, _error, { id }) => (id === self ? undefined : client.invalidateQueries({ queryKey: peopleQuery.queryKey })),
  });
}

function pathOf(id: string): string {
  return `/people/${encodeURIComponent(id)}`;
}

/** The own session has ended with the change. Nothing stays in memory. */
function leave(): void {
  forgetAll();
  newDocument("/dashboard/sign-in");
}
