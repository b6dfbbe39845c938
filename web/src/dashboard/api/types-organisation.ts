// Bodies of the operations of people, workspaces, the audit log and the server.

import type { LinkKind, Role, Timestamp } from "./types.js";

/** An entry of `GET /invitations`: open ones. */
export interface Invitation {
  id: string;
  email: string;
  role: Role;
  /** The name of the person who made it. */
  madeBy: string | null;
  createdAt: Timestamp;
  endsAt: Timestamp;
}

/** `POST /invitations`: the only answer with the link. */
export interface NewInvitation extends Invitation {
  url: string;
}

/** `POST /people/{id}/reset`: the only answer with the link. */
export interface NewLink {
  kind: Exclude<LinkKind, "invitation">;
  url: string;
  endsAt: Timestamp;
}

/** An entry of `GET /workspaces`. */
export interface WorkspaceEntry {
  id: string;
  name: string;
  createdAt: Timestamp;
  /** Only an empty one can be deleted. */
  isEmpty: boolean;
}

export type ActorKind = "person" | "access_token" | "command" | "server" | "anonymous";

/** An entry of `GET /audit`. Names of actors and objects are those of that time. */
export interface AuditEntry {
  id: string;
  at: Timestamp;
  actor: { kind: ActorKind; id: string | null; name: string | null };
  /** Such as `person.created`. Newer servers may have more. */
  action: string;
  object: { kind: string; id: string; name: string };
  /** Its present name; `null` if it was deleted. */
  workspace: { id: string; name: string | null } | null;
  details: Record<string, string>;
  address: string | null;
  requestId: string | null;
}

export interface AuditPage {
  entries: AuditEntry[];
  nextCursor: string | null;
}

export interface ServerCheck {
  name: string;
  isOk: boolean;
  problem: string | null;
  advice: string | null;
}

/** `GET /server`. */
export interface ServerState {
  version: string;
  startedAt: Timestamp;
  roles: string[];
  checks: ServerCheck[];
  database: { kind: "sqlite" | "postgres"; schema: number };
  storage: { kind: "folder" | "s3"; freeBytes: number | null; totalBytes: number | null };
  engine: { name: string; version: string } | null;
}
