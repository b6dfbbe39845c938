// The head of each page: its title, and the focus after a page change.

import { type ReactNode, useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { text } from "../text/en.js";
import { pageOf } from "./page-path.js";
import { setPageTitle } from "./page-title.js";

/** Characters that fit into two lines of a narrow screen. */
const LONG_TITLE = 40;

let hasShownPage = false;

interface Props {
  title: string;
  /** Beside the title. */
  beside?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
}

export function Page({ title, beside, lead, actions, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const [path] = useLocation();
  const page = pageOf(path);
  useTitle(title);
  useEffect(() => setPageTitle(page, title), [page, title]);
  useEffect(() => {
    // The browser places the focus of the first page.
    if (hasShownPage) heading.current?.focus();
    hasShownPage = true;
  }, [page]);
  return (
    <>
      <div className="head">
        <div className="words">
          <div className="row wrap">
            <h1 ref={heading} tabIndex={-1} title={isLong(title) ? title : undefined}>
              {title}
            </h1>
            {beside}
          </div>
          {lead !== undefined && <p className="sub">{lead}</p>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

/** Whether the title may take more than the two lines that are shown. */
function isLong(title: string): boolean {
  return Array.from(title).length > LONG_TITLE;
}

/** For a part of the page that a button has closed: the focus would be lost. */
export function focusHeading(): void {
  document.querySelector<HTMLElement>("main h1")?.focus();
}

/** Sets the title of the document. */
export function useTitle(page: string): void {
  useEffect(() => {
    document.title = text.title(page);
  }, [page]);
}

/** For pages without the frame: the next page is a page change. */
export function useIsPage(): void {
  useEffect(() => {
    hasShownPage = true;
  }, []);
}
