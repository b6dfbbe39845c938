// All text of the dashboard, in English. Another language is another file with the same functions.

import type { Role, SessionEntry, Theme, Times } from "../api/types.js";
import { type RequestError, UNREADABLE_RESPONSE } from "../api/client.js";

const seconds = (count: number): string => (count === 1 ? "1 second" : `${count} seconds`);

/** Seconds in words for a button: minutes where they are long. */
const wait = (count: number): string => (count < 90 ? seconds(count) : `${Math.ceil(count / 60)} minutes`);

const roles: Record<Role, string> = { admin: "Administrator", member: "Member", viewer: "Viewer" };

export const text = {
  product: "Kinora",
  title: (page: string) => `${page} · Kinora`,
  loading: "Loading",
  skip: "Skip to the content",
  tryAgain: "Try again",
  cancel: "Cancel",
  close: "Close",
  save: "Save",
  role: (role: Role) => roles[role],

  error: {
    network: "The server cannot be reached. Check the network connection.",
    busy: "The server is busy.",
    server: "The server responded with an error.",
    forbidden: "You are not allowed to do this.",
    signedOut: "You are signed out. Sign in, then try again.",
    changedMeanwhile: "It was changed meanwhile. Load the page again to see the change.",
    notFound: "It does not exist.",
    other: "The request failed.",
    unreadable: "The response of the server cannot be read. A change may have been made: load the page again to see it.",
    tooMany: "Too many requests in a short time. Wait a moment, then try again.",
    requestId: (id: string) => `Request ${id}`,
    requestIdName: "the request id",
    code: (status: number) => `Error ${status}`,
    tryingAgainIn: (count: number) => (count > 0 ? `Trying again in ${count} s` : "Trying again now"),
    tryAgainIn: (count: number) => `Try again in ${wait(count)}`,
    page: "The page cannot be displayed",
    pageHint: "The server may have been updated. Load the page again.",
    reload: "Reload",
  },

  bar: {
    plainHttpName: "Connection",
    plainHttp: "This connection is plain HTTP: others on the network can read passwords. Serve Kinora over HTTPS.",
    otherOrigin: (origin: string) => `This page belongs to another address of this server. Sign in at ${origin}.`,
    otherOriginLink: "Open it there",
  },

  copy: {
    button: (what: string) => `Copy ${what}`,
    done: "Copied",
    selected: "Selected. Press Ctrl C to copy.",
  },

  nav: {
    main: "Main",
    crumbs: "Breadcrumb",
    media: "Media",
    developers: "Developers",
    organisation: "Organisation",
    library: "Library",
    uploads: "Uploads",
    uploadCount: {
      unfinished: (count: number) => `${count} unfinished`,
      failedCount: (count: number) => `${count} failed`,
      failedOf: (failed: number, count: number) => `${failed} failed of ${count}`,
    },
    apiReference: "API reference",
    account: "Account",
    accessTokens: "Access Tokens",
    tokens: "Tokens",
    people: "People",
    audit: "Audit log",
    server: "Server",
    settings: "Settings",
    more: "More",
    home: "Kinora, library",
    workspaces: "Workspaces",
    workspace: "Workspace: ",
    noWorkspace: "No workspace",
    userMenu: "Your menu",
    userMenuOf: (name: string) => `Your menu: ${name}`,
    signOut: "Sign out",
    signOutFailed: "Signing out failed. Try again.",
  },

  look: {
    label: "Theme",
    names: { system: "System", light: "Light", dark: "Dark" } satisfies Record<Theme, string>,
    hint: "“System” follows the setting of this device.",
  },
  times: {
    label: "Time zone",
    names: { local: "Local", utc: "UTC" } satisfies Record<Times, string>,
    hint: (zone: string) => `“Local” is the time zone of this browser: ${zone}. Tooltips show both.`,
    utc: "UTC",
  },
  keys: {
    label: "Keyboard shortcuts",
    on: "On",
    off: "Off",
    hint: "Press ? to see the list.",
    title: "Keyboard shortcuts",
    goTo: (page: string) => `Go to ${page}`,
    showList: "Show this list",
  },

  finder: {
    open: "Find anything by name or id",
    key: "Ctrl K",
    search: "Search",
  },

  field: {
    email: "Email",
    password: "Password",
    newPassword: "New password",
    currentPassword: "Current password",
    name: "Name",
    show: "Show password",
    hide: "Hide password",
    passwordHint: "12 characters or more. A few unrelated words are stronger than symbols.",
  },

  signIn: {
    title: "Sign in",
    to: (organisation: string, host: string) => `to ${organisation} at ${host}`,
    button: "Sign in",
    wrong: "The email or the password is wrong, or the account is disabled.",
    forgotten: "Forgotten?",
    help: (command: string) => ["Forgotten your password? Ask an administrator for a link, or run ", command, " on the server."] as const,
    resetCommand: "kinora user reset EMAIL",
    noAccountTitle: "Make the first account",
    noAccount: "No account can sign in yet. Run this command on the server:",
    noAccountHint: "It prints a link for you to open. You choose your password on the page of the link.",
    check: "Check again",
    command: "the command",
    apiReference: "API reference",
  },

  again: {
    title: "Sign in again",
    lead: "Your session has ended. Your page is unchanged: sign in and it continues.",
    other: "With another account, the page is loaded again.",
    later: "Not now",
  },

  confirm: {
    title: "Confirm that it is you",
    lead: "This action needs a password that was entered in the last 30 minutes.",
    button: "Confirm",
  },

  link: {
    titles: { setup: "Set up your account", invitation: "Join", reset: "Choose a new password" },
    setup: (organisation: string, role: Role | null) =>
      role === null ? `for ${organisation}` : `${roles[role]} of ${organisation}`,
    reset: (email: string) => `for ${email}. It ends all your other sessions.`,
    buttons: { setup: "Create the account", invitation: "Join", reset: "Set the password" },
    looking: "Checking the link",
    missingTitle: "The link is not complete",
    missing: "Open the whole link, including the part after the # sign. A link works once.",
    unknownTitle: "The link is not valid",
    unknown: "Check that it was copied as a whole. If it was, ask for a new one.",
    endedTitle: "The link cannot be used any more",
    ended: "It was used or has ended.",
    howToGet: "How to get another link",
    commandFor: {
      setup: "kinora user create --email EMAIL --role administrator",
      reset: "kinora user reset EMAIL",
    },
    newSetup: "First account: on the server, run",
    newReset: "Forgotten password: ask an administrator, or run",
    newInvitation: "Invitation: ask the administrator who invited you.",
    toSignIn: "Go to the sign-in page",
  },

  start: {
    noneTitle: "No workspace yet",
    none: "A workspace contains media, webhooks and access tokens. Create one on the server:",
    workspaceCommand: "the workspace command",
    unknownTitle: "No such workspace",
    unknown: "It was deleted, or the address is wrong. Choose another workspace:",
  },

  notFound: {
    title: "Page not found",
    lead: "The address is wrong, or the page has moved.",
    back: "Go to the library",
  },

  account: {
    title: "Account",
    lead: (email: string, role: Role, organisation: string) => `${email}, ${roles[role].toLowerCase()} of ${organisation}`,
    profile: "Profile",
    nameSaved: "Name saved",
    emailHint: "You sign in with this email. It cannot be changed here.",
    password: "Password",
    passwordLead: "A new password ends all your other sessions.",
    changePassword: "Change the password",
    passwordChanged: "Password changed. All other sessions have ended.",
    sessions: "Sessions",
    sessionsLead: "Browsers in which you are signed in.",
    current: "This session",
    end: "End",
    endOf: (session: string) => `End: ${session}`,
    endOthers: "End all others",
    ended: "Session ended",
    othersEnded: "All other sessions have ended",
    client: (browser: string | null, system: string | null) =>
      [browser ?? "Unknown browser", system].filter((part) => part !== null).join(" on "),
    from: (session: SessionEntry) => session.address || "this machine",
    lastUsed: "last used",
    signedIn: "signed in",
    display: "Display",
  },
};

/** The sentence of an error that belongs to no field. */
export function sentenceOf(error: RequestError): string {
  switch (error.status) {
    case 0:
      return error.reason === UNREADABLE_RESPONSE ? text.error.unreadable : text.error.network;
    case 401:
      return text.error.signedOut;
    case 403:
      return sentence(error.description) || text.error.forbidden;
    case 404:
      return sentence(error.description) || text.error.notFound;
    case 412:
      return text.error.changedMeanwhile;
    case 429:
      return text.error.tooMany;
    case 503:
      return text.error.busy;
    default:
      if (error.status >= 500) return text.error.server;
      return sentence(error.description) || text.error.other;
  }
}

/** A message of the server as a sentence: they begin in lower case and have no full stop. */
export function sentence(message: string): string {
  if (message === "") return "";
  const begin = message.charAt(0).toLocaleUpperCase("en") + message.slice(1);
  return /[.!?]$/.test(begin) ? begin : `${begin}.`;
}
