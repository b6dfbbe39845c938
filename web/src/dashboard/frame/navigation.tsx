// The pages that a person may open, in the side bar and in the bar at the bottom of narrow screens.

import { lazy, type ReactNode, Suspense } from "react";
import { BookOpen, Clapperboard, KeyRound, Layers, type LucideIcon, Menu as MenuIcon, ScrollText, Server, Settings, Upload, UserRound, Users } from "lucide-react";
import { Link } from "wouter";
import type { Action, Session, Workspace } from "../api/types.js";
import { Menu } from "../parts/menu.js";
import { text } from "../text/en.js";
import { Boundary } from "./boundary.js";

export interface Entry {
  name: string;
  icon: LucideIcon;
  href: string;
  /** Another document, such as the API reference. */
  isOutside?: boolean;
  /** The action that it needs. */
  action?: Action;
  /** Its name in the bar at the bottom. */
  shortName?: string;
  /** The key after `g` that opens it. */
  key?: string;
  /** Beginning of the paths of its sub-pages. */
  below?: string;
  /** Whether it belongs to the person, not to the organisation. */
  isOwn?: boolean;
  /** Beside the name in the side bar. */
  beside?: ReactNode;
}

export interface Group {
  name: string;
  entries: Entry[];
}

const UploadCount = lazy(() => import("./upload-count.js"));

/** Entries of the bar at the bottom beside "More". */
const DOCK_MAX = 4;

export function groupsOf({ actions }: Session, workspace: Workspace | null): Group[] {
  const base = workspace === null ? null : `/w/${workspace.id}`;
  const groups: Group[] = [
    {
      name: text.nav.media,
      entries: [
        { name: text.nav.library, icon: Clapperboard, href: base === null ? "/" : `${base}/library`, key: "l", ...(base !== null && { below: `${base}/media/` }) },
        ...(base === null ? [] : [{ name: text.nav.uploads, icon: Upload, href: `${base}/uploads`, key: "u", ...(workspace !== null && actions.includes("media.change") && { beside: <UploadCount workspaceId={workspace.id} /> }) }]),
      ],
    },
    { name: text.nav.developers, entries: [{ name: text.nav.apiReference, icon: BookOpen, href: "/docs", isOutside: true }] },
    {
      name: text.nav.organisation,
      entries: [
        { name: text.nav.accessTokens, shortName: text.nav.tokens, icon: KeyRound, href: "/organisation/access-tokens", action: "accessTokens.manage", key: "t" },
        { name: text.nav.people, icon: Users, href: "/organisation/people", action: "people.see", key: "p" },
        { name: text.nav.workspaces, icon: Layers, href: "/organisation/workspaces", action: "workspaces.manage", key: "w" },
        { name: text.nav.audit, icon: ScrollText, href: "/organisation/audit", action: "audit.see", key: "d" },
        { name: text.nav.server, icon: Server, href: "/organisation/server", action: "server.see", key: "s" },
        { name: text.nav.settings, icon: Settings, href: "/organisation/settings", action: "organisation.manage", key: "e" },
        { name: text.nav.account, icon: UserRound, href: "/account", key: "a", isOwn: true },
      ],
    },
  ];
  return groups.map(({ name, entries }) => ({
    name,
    entries: entries.filter(({ action }) => action === undefined || actions.includes(action)),
  }));
}

/** The page that is shown. */
export interface Shown {
  /** Name of its group. */
  group: string;
  entry: Entry;
  /** Whether it is a sub-page of the entry. */
  isBelow: boolean;
}

export function shownOf(groups: Group[], path: string): Shown | undefined {
  for (const { name, entries } of groups) {
    const entry = entries.find((entry) => isShown(entry, path));
    if (entry) return { group: name, entry, isBelow: entry.href !== path };
  }
  return undefined;
}

/** Whether the page of this entry, or a sub-page, is shown. */
function isShown({ href, below }: Entry, path: string): boolean {
  return href === path || (below !== undefined && path.startsWith(below));
}

export function NavGroup({ group: { name, entries }, path }: { group: Group; path: string }) {
  return (
    <nav className="nav" aria-label={name}>
      <div className="title" aria-hidden>
        {name}
      </div>
      {entries.map((entry) => (
        <NavLink key={entry.href} {...entry} isCurrent={isShown(entry, path)}>
          {entry.beside !== undefined && (
            <Boundary isSilent>
              <Suspense>{entry.beside}</Suspense>
            </Boundary>
          )}
        </NavLink>
      ))}
    </nav>
  );
}

/** The bar at the bottom: what is used most, and a menu of the rest. */
export function Dock({ groups, path }: { groups: Group[]; path: string }) {
  const all = groups.flatMap(({ entries }) => entries);
  const most = all.filter(({ isOutside }) => !isOutside).slice(0, DOCK_MAX);
  const rest = all.filter((entry) => !most.includes(entry));
  return (
    <nav className="dock thin" aria-label={text.nav.main}>
      {most.map((entry) => (
        <NavLink key={entry.href} {...entry} name={entry.shortName ?? entry.name} isCurrent={isShown(entry, path)} />
      ))}
      <Menu
        label={text.nav.more}
        className={rest.some((entry) => isShown(entry, path)) ? "current" : ""}
        button={
          <>
            <MenuIcon className="i" aria-hidden />
            {text.nav.more}
          </>
        }
      >
        {rest.map((entry) => (
          <NavLink key={entry.href} {...entry} className="item" isCurrent={isShown(entry, path)} />
        ))}
      </Menu>
    </nav>
  );
}

interface LinkProps extends Entry {
  isCurrent: boolean;
  className?: string;
  children?: ReactNode;
}

function NavLink({ name, icon: Icon, href, isOutside = false, isCurrent, className, children }: LinkProps) {
  const content = (
    <>
      <Icon className="i" aria-hidden />
      {name}
      {children}
    </>
  );
  if (isOutside) {
    return (
      <a href={href} className={className}>
        {content}
      </a>
    );
  }
  return (
    <Link href={href} className={className} data-closes aria-current={isCurrent ? "page" : undefined}>
      {content}
    </Link>
  );
}
