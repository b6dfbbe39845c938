// In the place of a list without entries: what it is for, and how to make the first one.

import type { ReactNode } from "react";
import type { LucideIcon } from "lucide-react";

interface Props {
  icon: LucideIcon;
  title: string;
  /** What the entries are for. */
  children: ReactNode;
  actions?: ReactNode;
}

export function Empty({ icon: Icon, title, children, actions }: Props) {
  return (
    <div className="empty">
      <span className="glyph">
        <Icon className="i" aria-hidden />
      </span>
      <h2>{title}</h2>
      <div className="small soft">{children}</div>
      {actions}
    </div>
  );
}
