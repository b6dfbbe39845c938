// Bodies of the dashboard's own operations, as the server sends them below `/dashboard/api`.

/** Times of the server: RFC 3339, UTC. */
export type Timestamp = string;

export type Role = "admin" | "member" | "viewer";

/** What a role allows. The server checks it; the page hides what a person may not do. */
export type Action =
  | "media.see"
  | "media.change"
  | "playback.change"
  | "webhooks.change"
  | "live.change"
  | "signingKeys.see"
  | "signingKeys.change"
  | "accessTokens.manage"
  | "people.see"
  | "people.manage"
  | "workspaces.manage"
  | "organisation.manage"
  | "server.see"
  | "audit.see"
  | "account.change";

export type Theme = "system" | "light" | "dark";
export type Times = "local" | "utc";

/** Settings of a person. Absent ones have the defaults of `settingsOf`. */
export interface Settings {
  theme?: Theme;
  times?: Times;
  library?: "grid" | "list";
  keys?: boolean;
}

/** `GET /door`: what the page has to know before a person has signed in. */
export interface Door {
  organisation: { name: string };
  signIn: string[];
  /** Whether at least one person can sign in. */
  hasPeople: boolean;
  publicUrl: string;
  /** The command that makes the first administrator. */
  createCommand: string;
}

export interface Workspace {
  id: string;
  name: string;
}

/** `GET /session` and the answers of all operations that start or renew a session. */
export interface Session {
  person: { id: string; email: string; name: string | null; settings: Settings };
  role: Role;
  actions: Action[];
  organisation: { id: string; name: string };
  workspaces: Workspace[];
  confirmedUntil: Timestamp | null;
  endsAt: Timestamp;
}

export type LinkKind = "setup" | "invitation" | "reset";

/** `POST /links/look`: what a one-time link is for. */
export interface OneTimeLink {
  kind: LinkKind;
  email: string;
  name: string | null;
  role: Role | null;
  endsAt: Timestamp;
  organisation: { name: string };
}

/** `GET /me`. */
export interface Me {
  id: string;
  email: string;
  name: string | null;
  role: Role;
  settings: Settings;
  createdAt: Timestamp;
}

/** An entry of `GET /me/sessions`. */
export interface SessionEntry {
  id: string;
  createdAt: Timestamp;
  seenAt: Timestamp;
  endsAt: Timestamp;
  address: string | null;
  /** The `User-Agent` of its sign-in. */
  client: string | null;
  isCurrent: boolean;
}

/** An entry of `GET /people`. */
export interface PersonEntry {
  id: string;
  email: string;
  name: string | null;
  role: Role;
  isDisabled: boolean;
  /** Whether the person has a password. */
  canSignIn: boolean;
  createdAt: Timestamp;
  seenAt: Timestamp | null;
}

export type Permission = "read-write" | "read-only";

/** An entry of `GET /access-tokens`. */
export interface AccessToken {
  id: string;
  name: string | null;
  workspace: Workspace;
  permission: Permission;
  createdAt: Timestamp;
  createdBy: { kind: "person" | "command"; name: string | null } | null;
  lastUsedAt: Timestamp | null;
  revokedAt: Timestamp | null;
}

/** A file that the page makes of a text of the server. */
export interface TextFile {
  name: string;
  text: string;
}

/** `POST /access-tokens`: the only answer with the secret. */
export interface NewAccessToken extends AccessToken {
  secret: string;
  files: { json: TextFile; env: TextFile };
  /** A curl request with the id and the secret. */
  example: string;
}

/** `GET /organisation`. */
export interface Organisation {
  id: string;
  name: string;
  createdAt: Timestamp;
}

/** The body of an error response. It has a description, or the fields that are wrong. */
export interface ErrorBody {
  code: number;
  message: string;
  description?: string;
  fields?: FieldError[];
}

export interface FieldError {
  field: string;
  message: string;
}
