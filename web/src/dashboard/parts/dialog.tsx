// A modal dialog of the platform: it holds the focus and gives it back.

import { type ReactNode, useEffect, useId, useRef } from "react";

interface Props {
  title: string;
  /** Escape, or a click beside the dialog if `closesOutside`. */
  onClose: () => void;
  closesOutside?: boolean;
  children: ReactNode;
}

/** Open as long as it is rendered. `data-autofocus` marks the element that gets the focus first. */
export function Dialog({ title, onClose, closesOutside = false, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    element?.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    return () => {
      element?.close();
      // React has removed the element before it could give the focus back.
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className="dialog"
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
