// A menu of links and buttons in a popover of the platform: Escape and clicks beside it close it.

import { type ReactNode, useId, useRef } from "react";

interface Props {
  /** Name of the menu. */
  label: string;
  className: string;
  /** Content of the button; its text, visible or not, is the name of the button. */
  button: ReactNode;
  children: ReactNode;
}

/** Pixels between the button and the menu, and between the menu and the edge of the window. */
const GAP = 6;

export function Menu({ label, className, button, children }: Props) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const popover = useRef<HTMLDivElement>(null);
  return (
    <>
      <button ref={opener} type="button" className={className} popoverTarget={id}>
        {button}
      </button>
      <div
        ref={popover}
        id={id}
        popover="auto"
        role="group"
        aria-label={label}
        className="menu"
        onToggle={(event) => {
          if (event.newState === "open" && opener.current && popover.current) place(popover.current, opener.current);
        }}
        onClick={(event) => {
          // Links and commands close the menu; settings keep it open.
          if ((event.target as Element).closest("[data-closes]")) popover.current?.hidePopover();
        }}
      >
        {children}
      </div>
    </>
  );
}

/** Below the button, or above it where there is more space; inside the window. */
function place(popover: HTMLElement, opener: HTMLElement): void {
  const button = opener.getBoundingClientRect();
  const { width, height } = popover.getBoundingClientRect();
  const below = innerHeight - button.bottom;
  const isAbove = below < height + 2 * GAP && button.top > below;
  const top = isAbove ? button.top - height - GAP : button.bottom + GAP;
  const left = Math.min(button.left, innerWidth - width - GAP);
  popover.style.top = `${Math.max(GAP, top)}px`;
  popover.style.left = `${Math.max(GAP, left)}px`;
  popover.style.minWidth = `${Math.min(button.width, innerWidth - 2 * GAP)}px`;
}
