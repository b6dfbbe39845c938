// Text of the audit log.

import type { LinkKind } from "../api/types.js";
import { text } from "./en.js";

// Names come from the log: plain objects would find `constructor` and `__proto__` as well.

const links = new Map<string, string>(
  Object.entries({ setup: "setup link", invitation: "invitation", reset: "reset link" } satisfies Record<LinkKind, string>),
);

/** Templates by action: `{actor}`, `{object}`, and details by name. */
const sentences = new Map(Object.entries({
  "person.signed_in": "{actor} signed in",
  "person.sign_in_failed": "{count} failed attempts to sign in as {object}",
  "person.signed_out": "{actor} signed out",
  "person.confirmed": "{actor} confirmed with the password",
  "person.created": "{actor} created the account {object}",
  "person.renamed": "{actor} changed the name of {object} to {to}",
  "person.disabled": "{actor} disabled {object}",
  "person.enabled": "{actor} enabled {object}",
  "person.removed": "{actor} removed {object}",
  "person.role_changed": "{actor} changed the role of {object} from {from} to {to}",
  "person.password_changed": "{actor} changed the password of {object}",
  "person.sessions_ended": "{actor} ended sessions of {object}",
  "link.created": "{actor} created the {kind} for {object}",
  "link.used": "{object} used the {kind}",
  "link.revoked": "{actor} took back the {kind} for {object}",
  "access_token.created": "{actor} created the access token {object}",
  "access_token.renamed": "{actor} renamed the access token {object}",
  "access_token.revoked": "{actor} revoked the access token {object}",
  "workspace.created": "{actor} created the workspace {object}",
  "workspace.renamed": "{actor} renamed the workspace {object}",
  "workspace.changed": "{actor} changed settings of the workspace {object}",
  "workspace.deleted": "{actor} deleted the workspace {object}",
  "organisation.renamed": "{actor} renamed the organisation to {object}",
  "webhook.created": "{actor} created the webhook {object}",
  "webhook.enabled": "{actor} enabled the webhook {object}",
  "webhook.secret_rotated": "{actor} replaced the secret of the webhook {object}",
  "signing_key.created": "{actor} created the signing key {object}",
  "signing_key.deleted": "{actor} deleted the signing key {object}",
  "playback_id.created": "{actor} created the playback ID {object}",
  "playback_id.changed": "{actor} changed rules of the playback ID {object}",
  "playback_id.deleted": "{actor} deleted the playback ID {object}",
  "playback_token.revoked": "{actor} revoked the playback token {object}",
  "media.deleted": "{actor} deleted the media {object}",
  "track.deleted": "{actor} deleted the track {object}",
  "playlist.deleted": "{actor} deleted the playlist {object}",
}));

/** Details of rows by their names. */
const details = new Map(Object.entries({
  count: "Attempts",
  firstAt: "First attempt",
  lastAt: "Last attempt",
  from: "Before",
  to: "After",
  kind: "Link",
  link: "Link",
  role: "Role",
  sessions: "Ended sessions",
  permission: "Permission",
}));

export const auditText = {
  lead: "Changes to accounts, credentials, workspaces and settings, newest first. Entries are stored for 400 days.",
  list: "Entries",
  export: "Export",
  exportHint: "All entries that match, as JSON Lines",

  filters: "Filters",
  action: "Action",
  anyAction: "Any action",
  groups: {
    person: "People and sign-ins",
    link: "Invitations and links",
    access_token: "Access tokens",
    workspace: "Workspaces",
    organisation: "Organisation",
    webhook: "Webhooks",
    signing_key: "Signing keys",
    playback_id: "Playback IDs",
    playback_token: "Playback tokens",
    media: "Media",
    track: "Tracks",
    playlist: "Playlists",
  },
  person: "Person",
  anyone: "Anyone",
  actors: { command: "Command line", server: "Server", anonymous: "Not signed in" },
  date: "Date",
  dates: (from: string, to: string) => (from === "" ? `Until ${to}` : to === "" ? `Since ${from}` : `${from} to ${to}`),
  from: "From",
  to: "To",
  object: "Object",
  removeFilter: (name: string) => `Remove the filter ${name}`,
  clear: "Remove all filters",

  load: "Reload",
  loadNew: "Show new entries",
  loadMore: "Load more",
  count: (entries: number, isAll: boolean) => {
    const words = entries === 1 ? "1 entry" : `${entries} entries`;
    return isAll ? words : `${words} so far`;
  },
  none: ["No entries yet", "Sign-ins and changes appear here."] as const,
  noMatch: ["No entry matches", "Choose a longer period, or remove a filter."] as const,
  invalid: ["No such filter", "The address of this page has a filter that the server does not know."] as const,

  sentence: (action: string) => sentences.get(action) ?? "{actor}: {action} {object}",
  actor: {
    person: "A person",
    access_token: (name: string) => `The access token ${name}`,
    command: "The command line",
    server: "The server",
    anonymous: "A client that is not signed in",
  },
  /** A detail as text: roles and kinds of links have names, other values stay. */
  value: (action: string, detail: string, value: string) => {
    if (detail === "kind") return links.get(value) ?? value;
    const isRole = detail === "role" || (action === "person.role_changed" && (detail === "from" || detail === "to"));
    if (isRole && (value === "admin" || value === "member" || value === "viewer")) return text.role(value).toLowerCase();
    return value;
  },

  details: {
    local: "Time",
    utc: "Time, UTC",
    action: "Action",
    actor: "Actor ID",
    object: "Object ID",
    workspace: "Workspace",
    address: "Address",
    request: "Request ID",
    of: (name: string) => details.get(name) ?? name,
    onlyActor: "Only this actor",
    onlyObject: "Only this object",
  },
};
