// A modal dialog of the platform: it holds the focus and gives it back.

import { type ReactNode, type RefObject, useEffect, useId, useRef } from "react";

interface Props {
  title: string;
  className?: string;
  /** Escape, or a click beside the dialog if `closesOutside`. */
  onClose: () => void;
  closesOutside?: boolean;
  /** Whether the focus goes to the heading of the page at last: what opened the dialog will disappear. */
  endsAtHeading?: RefObject<boolean>;
  children: ReactNode;
}

/** Open as long as it is rendered. `data-autofocus` marks the element that gets the focus first. */
export function Dialog({ title, className = "", onClose, closesOutside = false, endsAtHeading, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    element?.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    return () => {
      element?.close();
      // React has removed the element before it could give the focus back. What opened it may be gone too.
      const isKept = before instanceof HTMLElement && before.isConnected && endsAtHeading?.current !== true;
      if (isKept) before.focus();
      else document.querySelector<HTMLElement>("main h1")?.focus();
    };
  }, [endsAtHeading]);
  return (
    <dialog
      ref={dialog}
      className={`dialog ${className}`.trim()}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (closesOutside && event.target === dialog.current) onClose();
      }}
    >
      <div className="stack">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
