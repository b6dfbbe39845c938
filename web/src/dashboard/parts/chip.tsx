// A filter as a chip: its button opens a small form, and a second button removes it.

import { type ReactNode, useRef } from "react";
import { Plus, X } from "lucide-react";
import { Menu } from "./menu.js";

interface Props {
  name: string;
  /** What is set; `null` for nothing. */
  value: string | null;
  /** Name of the button that removes it. */
  removeLabel: string;
  onRemove: () => void;
  /** Gets a function that closes the form. */
  children: (close: () => void) => ReactNode;
}

export function Chip({ name, value, removeLabel, onRemove, children }: Props) {
  const content = useRef<HTMLDivElement>(null);
  const close = () => content.current?.closest<HTMLElement>("[popover]")?.hidePopover();
  return (
    <span className={value === null ? "chip" : "chip set"}>
      <Menu
        label={name}
        className="open"
        button={
          <>
            {value === null && <Plus className="i" aria-hidden />}
            <span className="clip" dir="auto">
              {value ?? name}
            </span>
          </>
        }
      >
        <div ref={content} className="form">
          {children(close)}
        </div>
      </Menu>
      {value !== null && (
        <button type="button" className="remove" aria-label={removeLabel} title={removeLabel} onClick={onRemove}>
          <X className="i" aria-hidden />
        </button>
      )}
    </span>
  );
}
