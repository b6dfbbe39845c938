// Where the page is: the workspace or group and the page, or the person's own page; of a sub-page, the
// way back to its list.

import { ChevronLeft, ChevronRight } from "lucide-react";
import { Link, useLocation } from "wouter";
import type { Workspace } from "../api/types.js";
import { text } from "../text/en.js";
import type { Shown } from "./navigation.js";
import { pageOf } from "./page-path.js";
import { usePageTitle } from "./page-title.js";

interface Props {
  shown: Shown | undefined;
  workspace: Workspace | null;
}

export function Crumbs({ shown, workspace }: Props) {
  const [path] = useLocation();
  const title = usePageTitle(pageOf(path));
  if (shown === undefined) return <div className="crumbs wide-only" />;
  const { group, entry, isBelow } = shown;
  if (isBelow) {
    return (
      <nav className="crumbs wide-only" aria-label={text.nav.crumbs}>
        <Link href={entry.href}>{entry.name}</Link>
        {title !== null && (
          <>
            <ChevronRight className="i faint" aria-hidden />
            <b className="clip" dir="auto">
              {title}
            </b>
          </>
        )}
      </nav>
    );
  }
  // Pages of media belong to the workspace, which says more than their group.
  const parent = group === text.nav.media && workspace !== null ? workspace.name : group;
  return (
    <div className="crumbs wide-only">
      {entry.isOwn !== true && (
        <>
          <span className="clip">{parent}</span>
          <ChevronRight className="i faint" aria-hidden />
        </>
      )}
      <b>{entry.name}</b>
    </div>
  );
}

/** The same on a narrow screen, in the place of the mark. */
export function BackToList({ shown: { entry } }: { shown: Shown }) {
  return (
    <Link className="back thin" href={entry.href}>
      <ChevronLeft className="i" aria-hidden />
      {entry.name}
    </Link>
  );
}
