// A part of a page that stands out, such as the form of something new. It stays until a button closes it.

import { type ReactNode, useEffect, useId, useRef } from "react";

interface Props {
  title: string;
  /** Beside the title. */
  beside?: ReactNode;
  children: ReactNode;
}

/** The heading gets the focus when the panel opens, except where a field of it has `autoFocus`. */
export function Panel({ title, beside, children }: Props) {
  const id = useId();
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const element = panel.current;
    if (element?.contains(document.activeElement)) return;
    element?.querySelector("h2")?.focus({ preventScroll: true });
    element?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <section ref={panel} className="panel" aria-labelledby={id}>
      <div className="row wrap">
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        {beside}
      </div>
      {children}
    </section>
  );
}
