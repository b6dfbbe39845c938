// Text of the page of workspaces.

export const workspacesText = {
  lead: "A workspace contains media, webhooks and signing keys. An access token is valid for one workspace.",
  list: "Workspaces",
  columns: { name: "Workspace", content: "Content", created: "Created", actions: "Actions" },
  id: "the workspace ID",
  empty: "Empty",
  inUse: "In use",
  mayDelete: "Can be deleted",
  notEmpty: "Delete its content first",
  last: "The last workspace cannot be deleted",
  noneTitle: "No workspace yet",
  none: "Create the first one. Media, webhooks and access tokens belong to it.",

  create: {
    open: "New workspace",
    title: "New workspace",
    name: "Name",
    hint: "Such as “Production” or “Development”. You can rename it later.",
    button: "Create the workspace",
    done: "Workspace created",
  },

  rename: {
    button: "Rename",
    of: (name: string) => `Rename: ${name}`,
    field: (name: string) => `New name of ${name}`,
    done: "Workspace renamed",
  },

  remove: {
    button: "Delete",
    of: (name: string) => `Delete: ${name}`,
    title: (name: string) => `Delete the workspace ${name}?`,
    what: "Its ID stops working at once, for the API and the dashboard. This cannot be undone.",
    confirm: "Delete the workspace",
    done: "Workspace deleted",
  },
};
