// Tabs of a page: links, each with an address of its own.

import { useEffect, useRef } from "react";
import { Link } from "wouter";

export interface Tab {
  name: string;
  href: string;
  /** Number of entries behind it, such as "50+"; empty, with a place, until it is known. */
  count?: number | string | undefined;
  isCurrent: boolean;
}

export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  const nav = useRef<HTMLElement>(null);
  const current = tabs.find(({ isCurrent }) => isCurrent)?.href;
  // On a narrow screen the row scrolls sideways.
  useEffect(() => {
    // Not returned: some browsers return a promise, which React would take for a cleanup.
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current]);
  return (
    <nav ref={nav} className="tabs" aria-label={label}>
      {tabs.map(({ name, href, count, isCurrent }) => (
        <Link key={href} href={href} aria-current={isCurrent ? "page" : undefined}>
          {name}
          {count !== undefined && <span className="n">{count}</span>}
        </Link>
      ))}
    </nav>
  );
}
