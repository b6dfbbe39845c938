// Text of the page of people.

import type { LinkKind, Role } from "../api/types.js";

export const peopleText = {
  lead: "Who can sign in to this dashboard, and what they may do.",
  list: "People",
  columns: { person: "Person", role: "Role", seen: "Last seen", actions: "Actions" },
  self: "You",
  disabled: "Disabled",
  noPassword: "No password yet",
  actionsOf: (person: string) => `Actions: ${person}`,

  roleHints: {
    admin: "May do everything: access tokens, people, workspaces and the audit log too.",
    member: "Uploads, changes and deletes media. Changes playback, webhooks, live streams and signing keys.",
    viewer: "Watches all media, and changes nothing.",
  } satisfies Record<Role, string>,

  invite: {
    open: "Invite a person",
    title: "Invite a person",
    button: "Create the link",
    emailHint: "Kinora sends no mail: it makes a link, and you send it.",
  },

  link: {
    title: { invitation: "Invitation link", reset: "Link to a new password", setup: "Setup link" } satisfies Record<LinkKind, string>,
    for: (email: string) => `for ${email}`,
    lead: "Copy it now and send it to this person: it cannot be shown again. It works once, until",
    what: "the link",
    done: "Done",
    leaving: {
      title: "Leave without the link?",
      lead: "The new link was not copied. It cannot be shown again.",
      stay: "Stay",
      leave: "Leave the page",
    },
    closing: {
      title: "Close without the link?",
      lead: "It was not copied, and it cannot be shown again. Without it, a new link has to be created.",
      stay: "Keep it",
      leave: "Close",
    },
  },

  invitations: {
    title: "Open invitations",
    lead: "Each link works once, for 7 days.",
    none: "No open invitations. The link creates the account.",
    by: "invited by",
    ends: "ends",
    commandLine: "command line",
    takeBack: "Take back",
    takeBackOf: (email: string) => `Take back: ${email}`,
    takenBack: "Invitation taken back",
  },

  role: {
    open: "Change the role",
    title: (person: string) => `Role of ${person}`,
    label: "Role",
    button: "Change the role",
    changed: "Role changed",
    self: "This is your own role. With another one you cannot change it back.",
  },

  disable: {
    open: "Disable",
    title: (person: string) => `Disable ${person}?`,
    what: "Their sessions end at once, and they cannot sign in. Open links for them, and links that they made, stop working.",
    later: "Nothing else changes. You can enable them again, with the same password.",
    self: "This is your own account: you will be signed out.",
    button: "Disable",
    done: "Disabled",
  },
  enable: { open: "Enable", done: "Enabled. The password is the earlier one." },

  reset: { open: "Link to a new password", openSetup: "New setup link" },

  remove: {
    open: "Remove",
    title: (person: string) => `Remove ${person}?`,
    gone: "Removed with the account: sessions, settings, open links for this person, and links that they made.",
    stays: "Unchanged: access tokens, workspaces and media that they made. The audit log keeps the name. This cannot be undone.",
    self: "This is your own account: you will be signed out.",
    button: "Remove",
    done: "Removed",
  },
};
