// A modal dialog of the platform: it holds the focus and gives it back.

import { type ReactNode, type RefObject, useEffect, useId, useRef } from "react";

interface Props {
  title: string;
  className?: string;
  /** Escape, or a click beside the dialog if `closesOutside`. It stays open until it is not rendered. */
  onClose: () => void;
  closesOutside?: boolean;
  /** Whether the focus goes to the heading of the page at last: what opened the dialog will disappear. */
  endsAtHeading?: RefObject<boolean>;
  children: ReactNode;
}

/** Dialogs that are open, the top one last. */
const openDialogs: HTMLDialogElement[] = [];

/** Open as long as it is rendered. `data-autofocus` marks the element that gets the focus first. */
export function Dialog({ title, className = "", onClose, closesOutside = false, endsAtHeading, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const focused = useRef<HTMLElement | null>(null);
  const close = useRef(onClose);
  close.current = onClose;
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return undefined;
    const before = document.activeElement;
    openDialogs.push(element);
    element.showModal();
    element.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    const endEscape = onEscape(element, () => close.current());
    return () => {
      endEscape();
      openDialogs.splice(openDialogs.indexOf(element), 1);
      element.close();
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
      onFocus={({ target }) => (focused.current = target instanceof HTMLElement ? target : null)}
      // React passes both events of an inner dialog to the outer one too.
      onCancel={(event) => {
        // A gesture, such as “back” on Android. Without `cancelable` the dialog closes.
        if (event.target !== dialog.current || !event.cancelable) return;
        event.preventDefault();
        onClose();
      }}
      onClose={(event) => {
        if (event.target !== dialog.current || !dialog.current.isConnected) return;
        dialog.current.showModal();
        focused.current?.focus();
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

/**
 * Calls `onPress` for Escape while `element` is the top dialog. The key is taken before it closes the dialog:
 * Chromium closes one at the second press, without a `cancel` event that could prevent it.
 */
function onEscape(element: HTMLDialogElement, onPress: () => void): () => void {
  const onKey = (event: KeyboardEvent) => {
    const isOfInput = event.isComposing || event.defaultPrevented || element.querySelector(":popover-open") !== null;
    if (event.key !== "Escape" || isOfInput || openDialogs.at(-1) !== element) return;
    event.preventDefault();
    onPress();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
