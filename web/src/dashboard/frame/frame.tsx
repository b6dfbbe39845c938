// The frame of each page behind the sign-in: side bar, top bar, and below 720 px a bar at the bottom.

import { type ReactNode, useEffect } from "react";
import { BookOpen, ChevronRight, House, type LucideIcon, UserRound } from "lucide-react";
import { Link, useLocation } from "wouter";
import { offerSignIn, useIsSessionEnded } from "../api/session-end.js";
import type { Session, Workspace } from "../api/types.js";
import { text } from "../text/en.js";
import { Mark } from "./mark.js";
import { recall, remember } from "./memory.js";
import { applyTheme, SettingsContext, settingsOf } from "./settings.js";
import { Shortcuts } from "./shortcuts.js";
import { SignInAgain } from "./sign-in-again.js";
import { UserMenu } from "./user-menu.js";
import { WorkspaceSwitch } from "./workspace-switch.js";

interface Entry {
  name: string;
  icon: LucideIcon;
  href: string;
  /** Another document, such as the API reference. */
  isOutside?: boolean;
}

export function Frame({ session, children }: { session: Session; children: ReactNode }) {
  const settings = settingsOf(session.person.settings);
  const [path] = useLocation();
  const workspace = useCurrentWorkspace(session);
  const isEnded = useIsSessionEnded();
  useEffect(offerSignIn, []);
  useEffect(() => applyTheme(settings.theme), [settings.theme]);

  const overview = { name: text.nav.overview, icon: House, href: workspace === null ? "/" : `/w/${workspace.id}` };
  const account = { name: text.nav.account, icon: UserRound, href: "/account" };
  const groups: { name: string; entries: Entry[] }[] = [
    { name: text.nav.media, entries: [overview] },
    { name: text.nav.developers, entries: [{ name: text.nav.apiReference, icon: BookOpen, href: "/docs", isOutside: true }] },
    { name: text.nav.organisation, entries: [account] },
  ];
  const shown = groups.flatMap(({ name, entries }) => entries.filter(({ href }) => href === path).map((entry) => [name, entry.name]))[0];

  return (
    <SettingsContext value={settings}>
      <a className="skip" href="#content">
        {text.skip}
      </a>
      <div className="app">
        <aside className="side" aria-label={text.nav.main}>
          <Link className="brand" href="/">
            <Mark />
            {text.product}
          </Link>
          <WorkspaceSwitch session={session} current={workspace} />
          {groups.map(({ name, entries }) => (
            <nav key={name} className="nav" aria-label={name}>
              <div className="title" aria-hidden>
                {name}
              </div>
              {entries.map((entry) => (
                <NavLink key={entry.href} {...entry} isCurrent={entry.href === path} />
              ))}
            </nav>
          ))}
          <UserMenu session={session} />
        </aside>
        <div className="main">
          <header className="top">
            <Link className="thin" href="/" aria-label={text.nav.home}>
              <Mark />
            </Link>
            <div className="thin grow">
              <WorkspaceSwitch session={session} current={workspace} isPlain />
            </div>
            <div className="crumbs wide-only">
              {shown?.map((name, level) => (
                <span key={name} className="row">
                  {level > 0 && <ChevronRight className="i faint" aria-hidden />}
                  {level > 0 ? <b>{name}</b> : name}
                </span>
              ))}
            </div>
            <div className="thin">
              <UserMenu session={session} isPlain />
            </div>
          </header>
          <main className="content" id="content" tabIndex={-1}>
            {children}
          </main>
        </div>
      </div>
      <nav className="dock thin" aria-label={text.nav.main}>
        {[overview, account].map((entry) => (
          <NavLink key={entry.href} {...entry} isCurrent={entry.href === path} />
        ))}
      </nav>
      <Shortcuts />
      {isEnded && <SignInAgain session={session} />}
    </SettingsContext>
  );
}

function NavLink({ name, icon: Icon, href, isOutside = false, isCurrent }: Entry & { isCurrent: boolean }) {
  const content = (
    <>
      <Icon className="i" aria-hidden />
      {name}
    </>
  );
  if (isOutside) return <a href={href}>{content}</a>;
  return (
    <Link href={href} aria-current={isCurrent ? "page" : undefined}>
      {content}
    </Link>
  );
}

/** The workspace of the address, else the last one, else the first. */
export function useCurrentWorkspace({ workspaces }: Session): Workspace | null {
  const [path] = useLocation();
  const inAddress = /^\/w\/([^/]+)/.exec(path)?.[1];
  const find = (id: string | null | undefined) => workspaces.find((workspace) => workspace.id === id);
  const found = find(inAddress);
  useEffect(() => {
    if (found) remember("workspace", found.id);
  }, [found]);
  return found ?? find(recall("workspace")) ?? workspaces[0] ?? null;
}
