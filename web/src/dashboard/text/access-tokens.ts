// Text of the page of access tokens.

import type { AccessToken, Permission } from "../api/types.js";

const permissions: Record<Permission, string> = { "read-only": "Read-only", "read-write": "Read-write" };
const nameOf = ({ name, id }: { name: string | null; id: string }): string => name ?? id.slice(0, 8);

export const accessTokensText = {
  title: "Access Tokens",
  lead: "Your servers authenticate to the API with access tokens. Each token is valid for one workspace.",
  new: "New token",
  list: "Access tokens",
  unnamed: "No name",
  nameOf,
  permissions,

  columns: {
    token: "Token",
    workspace: "Workspace",
    permission: "Permission",
    lastUsed: "Last used",
    revoked: "Revoked",
    created: "Created by",
    actions: "Actions",
  },
  idOf: (token: AccessToken) => `the id of ${nameOf(token)}`,
  byCommand: "Command line",
  byPerson: "A person without a name",
  byUnknown: "Unknown",

  show: {
    label: "Show",
    names: (active: number, revoked: number) => ({ active: `Active ${active}`, revoked: `Revoked ${revoked}` }),
    workspace: "Workspace",
    allWorkspaces: "All workspaces",
    permission: "Permission",
    allPermissions: "All permissions",
    noMatch: "No token matches these filters.",
    noRevoked: "No token was revoked in the last 30 days.",
    noActive: "No token is active.",
    all: "Show all",
  },

  empty: {
    title: "No access tokens yet",
    text: "A server, script or CI job sends the id and the secret of a token with each request to the API. Create one token for each of them, so that you can revoke one without the others.",
  },

  create: {
    title: "New access token",
    nameHint: "What uses it, such as “Website backend”.",
    workspace: "Workspace",
    permission: "Permission",
    permissionHint: {
      "read-only": "Reads media, playlists, events and usage. It cannot change anything.",
      "read-write": "Reads and changes everything in the workspace, and deletes media.",
    } satisfies Record<Permission, string>,
    button: "Create token",
  },

  created: {
    title: (token: AccessToken) => `“${nameOf(token)}” is active. Save its secret now.`,
    scope: (token: AccessToken) => `${token.workspace.name} · ${permissions[token.permission].toLowerCase()}`,
    lead: "Kinora stores only a hash of the secret. It cannot be shown again after you leave this page. Create a new token if it is lost.",
    id: "Access Token ID",
    secret: "Secret Key",
    copyId: "the id",
    copySecret: "the secret",
    showSecret: "Show the secret",
    hideSecret: "Hide the secret",
    hidden: "The secret is hidden",
    json: "Workspace file (.json)",
    env: ".env",
    curl: "Copy curl",
    done: "I have saved it",
    isSaved: "Close",
  },

  leaving: {
    title: "Leave without the secret?",
    lead: "The secret of the new token was not copied or downloaded. It cannot be shown again.",
    stay: "Stay",
    leave: "Leave the page",
  },

  rename: {
    button: (token: AccessToken) => `Rename ${nameOf(token)}`,
    label: "Name of the token",
    done: "Token renamed",
  },

  revoke: {
    button: "Revoke",
    buttonOf: (token: AccessToken) => `Revoke ${nameOf(token)}`,
    title: (token: AccessToken) => `Revoke “${nameOf(token)}”?`,
    effect: "Requests with it get 401 within 2 seconds. This cannot be undone.",
    lastUsed: "Last used: ",
    neverUsed: "It was never used.",
    usedLately: "It was used in the last 24 hours: something may still depend on it.",
    confirm: "Revoke token",
    done: "Token revoked",
  },
};
