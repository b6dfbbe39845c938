// A section of a page with its heading.

import { type ReactNode, useId } from "react";

interface Props {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Card({ title, lead, actions, children }: Props) {
  const id = useId();
  return (
    <section className="card" aria-labelledby={id}>
      <header>
        <div className="words">
          <h2 id={id}>{title}</h2>
          {lead !== undefined && <p className="small soft">{lead}</p>}
        </div>
        {actions}
      </header>
      <div className="body">{children}</div>
    </section>
  );
}
