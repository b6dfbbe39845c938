// Tabs of a page: links, each with an address of its own.

import { Link } from "wouter";

export interface Tab {
  name: string;
  href: string;
  /** Number of entries behind it. */
  count?: number | undefined;
  isCurrent: boolean;
}

export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ name, href, count, isCurrent }) => (
        <Link key={href} href={href} aria-current={isCurrent ? "page" : undefined}>
          {name}
          {count !== undefined && <span className="n">{count}</span>}
        </Link>
      ))}
    </nav>
  );
}
