// The frame of each page behind the sign-in: side bar, top bar, and below 720 px a bar at the bottom.

import { lazy, type ReactNode, Suspense, useEffect } from "react";
import { Link, useLocation } from "wouter";
import { confirmation } from "../api/confirmation.js";
import { sessionEnd } from "../api/session-end.js";
import type { Session, Workspace } from "../api/types.js";
import { text } from "../text/en.js";
import { Boundary } from "./boundary.js";
import { ConfirmAgain } from "./confirm-again.js";
import { BackToList, Crumbs } from "./crumbs.js";
import { FinderButton } from "./finder-button.js";
import { Mark } from "./mark.js";
import { recall, remember } from "./memory.js";
import { Dock, groupsOf, NavGroup, shownOf } from "./navigation.js";
import { applyTheme, SettingsContext, settingsOf } from "./settings.js";
import { Shortcuts } from "./shortcuts.js";
import { SignInAgain } from "./sign-in-again.js";
import { UserMenu } from "./user-menu.js";
import { WorkspaceSwitch } from "./workspace-switch.js";

const UploadHost = lazy(() => import("../upload-ui/host.js"));

export function Frame({ session, children }: { session: Session; children: ReactNode }) {
  const settings = settingsOf(session.person.settings);
  const [path] = useLocation();
  const workspace = useCurrentWorkspace(session);
  const isEnded = sessionEnd.useIsWaitedFor();
  const needsConfirmation = confirmation.useIsWaitedFor();
  useEffect(sessionEnd.offer, []);
  useEffect(confirmation.offer, []);
  useEffect(() => applyTheme(settings.theme), [settings.theme]);

  const groups = groupsOf(session, workspace);
  const shown = shownOf(groups, path);
  const mayUpload = workspace !== null && session.actions.includes("media.change");

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
          {groups.map((group) => (
            <NavGroup key={group.name} group={group} path={path} />
          ))}
          <UserMenu session={session} />
        </aside>
        <div className="main">
          <header className="top">
            {shown?.isBelow === true ? (
              <BackToList shown={shown} />
            ) : (
              <>
                <Link className="thin" href="/" aria-label={text.nav.home}>
                  <Mark />
                </Link>
                <div className="thin grow">
                  <WorkspaceSwitch session={session} current={workspace} isPlain />
                </div>
              </>
            )}
            <Crumbs shown={shown} workspace={workspace} />
            <FinderButton session={session} workspace={workspace} entries={groups.flatMap(({ entries }) => entries)} />
            <div className="thin">
              <UserMenu session={session} isPlain />
            </div>
          </header>
          <main className="content" id="content" tabIndex={-1}>
            {children}
          </main>
        </div>
      </div>
      <Dock groups={groups} path={path} />
      <Shortcuts entries={groups.flatMap(({ entries }) => entries)} mayUpload={mayUpload} />
      {mayUpload && (
        <Boundary isSilent>
          <Suspense fallback={null}>
            <UploadHost workspace={workspace} />
          </Suspense>
        </Boundary>
      )}
      {needsConfirmation && <ConfirmAgain />}
      {isEnded && <SignInAgain session={session} />}
    </SettingsContext>
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
