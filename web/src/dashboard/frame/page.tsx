// The head of each page: its title, and the focus after a page change.

import { type ReactNode, useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { text } from "../text/en.js";
import { pageOf } from "./page-path.js";

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
            <h1 ref={heading} tabIndex={-1}>
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
