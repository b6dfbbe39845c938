// What the pages read and change, with its cache.

import { QueryClient, queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { newDocument } from "../frame/leave.js";
import { forgetAll } from "../frame/memory.js";
import { forgetUploads } from "../upload-ui/intake.js";
import { RequestError, retryPolicy, send } from "./client.js";
import { shownPerson } from "./shown-person.js";
import type { Door, Me, OneTimeLink, Session, SessionEntry, Settings } from "./types.js";

/** How long data is fresh. After that it is read again when the window gets the focus. */
const FRESH_MS = 30_000;

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { ...retryPolicy, staleTime: FRESH_MS, networkMode: "always" },
      // Variables of mutations contain passwords: none is cached.
      mutations: { networkMode: "always", gcTime: 0 },
    },
  });
}

export const doorQuery = queryOptions({
  queryKey: ["door"],
  queryFn: () => send<Door>("GET", "/door", { onSessionEnd: "reject" }),
});

/**
 * The session of this browser, `null` without one.
 *
 * A session that ends while a page is open stays here, so that the page and its forms stay: see
 * `session-end.ts`.
 */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async ({ client }): Promise<Session | null> => {
    try {
      const session = await send<Session>("GET", "/session");
      shownPerson.set(session.person.id);
      return session;
    } catch (error) {
      const isFirst = !client.getQueryData<Session | null>(["session"]);
      if (isFirst && error instanceof RequestError && error.status === 401) return null;
      throw error;
    }
  },
});

export const meQuery = queryOptions({ queryKey: ["me"], queryFn: () => send<Me>("GET", "/me") });

export const sessionsQuery = queryOptions({
  queryKey: ["me", "sessions"],
  queryFn: () => send<SessionEntry[]>("GET", "/me/sessions"),
});

/** What this link is for. A link is looked at once: the answer does not change while the page is open. */
export const linkQuery = (secret: string) =>
  queryOptions({
    queryKey: ["link", secret],
    queryFn: () => send<OneTimeLink>("POST", "/links/look", { body: { secret }, onSessionEnd: "reject" }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });

/** The session of a page behind the sign-in. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error("this page is shown to signed-in people only");
  return data;
}

/** Signs in. The page decides what follows. */
export function useSignIn() {
  return useMutation({
    mutationFn: (body: { email: string; password: string }) =>
      send<Session>("POST", "/session", { body, onSessionEnd: "reject" }),
    onSuccess: ({ person }) => shownPerson.set(person.id),
  });
}

/** Confirms that it is the same person, before an operation that needs it. */
export function useConfirm() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { password: string }) => send<Session>("POST", "/session/confirm", { body }),
    onSuccess: (session) => client.setQueryData(sessionQuery.queryKey, session),
  });
}

/** Uses a one-time link: sets name and password, and signs in. */
export function useLink() {
  return useMutation({
    mutationFn: (body: { secret: string; name?: string; password: string }) =>
      send<Session>("POST", "/links/use", { body, onSessionEnd: "reject" }),
    onSuccess: ({ person }) => shownPerson.set(person.id),
  });
}

/** Ends the session of this browser. The next page is a new document: nothing stays in memory. */
export function useSignOut() {
  return useMutation({
    mutationFn: () => send("DELETE", "/session", { onSessionEnd: "reject" }),
    onSuccess: async () => {
      forgetAll();
      await forgetUploads();
      newDocument("/dashboard/sign-in");
    },
  });
}

export function useChangeMe() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { name: string }) => send<Me>("PATCH", "/me", { body }),
    onSuccess: (me) => keepMe(client, me),
  });
}

export function useChangePassword() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { password: string; newPassword: string }) => send<Session>("POST", "/me/password", { body }),
    onSuccess: async (session) => {
      client.setQueryData(sessionQuery.queryKey, session);
      await client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
  });
}

/** Ends one session, or all others. */
export function useEndSessions() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (which: { id: string } | "others") =>
      send("DELETE", which === "others" ? "/me/sessions" : `/me/sessions/${encodeURIComponent(which.id)}`),
    onSettled: () => client.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  });
}

/** Changes one setting: shown at once, and undone if the server rejects it. */
export function useChangeSettings() {
  const client = useQueryClient();
  const show = (settings: Settings) =>
    client.setQueryData(sessionQuery.queryKey, (session) =>
      session ? { ...session, person: { ...session.person, settings: { ...session.person.settings, ...settings } } } : session,
    );
  return useMutation({
    mutationFn: (settings: Settings) => send<Me>("PATCH", "/me", { body: { settings } }),
    onMutate: (settings) => {
      const before = client.getQueryData(sessionQuery.queryKey)?.person.settings;
      show(settings);
      return { before };
    },
    onError: (_error, _settings, shown) => shown?.before && show(shown.before),
    onSuccess: (me) => keepMe(client, me),
  });
}

function keepMe(client: QueryClient, me: Me): void {
  client.setQueryData(meQuery.queryKey, me);
  client.setQueryData(sessionQuery.queryKey, (session) =>
    session ? { ...session, person: { ...session.person, name: me.name, settings: me.settings } } : session,
  );
}
