// Copies text, also over plain HTTP, where the clipboard of the page does not exist.

import { useRef } from "react";
import { Copy as CopyIcon } from "lucide-react";
import { text } from "../text/en.js";
import { IconButton } from "./button.js";
import { showToast } from "./toast.js";

/** A button that copies `value`; `what` completes its name. */
export function Copy({ value, what }: { value: string; what: string }) {
  const button = useRef<HTMLButtonElement>(null);
  return (
    <IconButton
      ref={button}
      label={text.copy.button(what)}
      onClick={async () => {
        if (await copy(value, button.current)) showToast(text.copy.done);
      }}
    >
      <CopyIcon className="i" aria-hidden />
    </IconButton>
  );
}

/** A line of text to copy. */
export function CopyLine({ value, what }: { value: string; what: string }) {
  return (
    <div className="copy">
      <code className="mono clip" title={value}>
        {value}
      </code>
      <Copy value={value} what={what} />
    </div>
  );
}

/** Lines of text to copy: a command or a request. */
export function CopyBlock({ value, what }: { value: string; what: string }) {
  return (
    <div className="codeblock" role="group" aria-label={what}>
      <pre className="code">
        <code>{value}</code>
      </pre>
      <Copy value={value} what={what} />
    </div>
  );
}

/**
 * Copies `value`. Without a clipboard it copies by a hidden text area; if that fails, it selects the text
 * beside the button and returns `false`.
 */
async function copy(value: string, button: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    // Not a secure context, or the person has not allowed it.
  }
  if (copyByTextArea(value, button)) return true;
  const shown = button?.parentElement?.querySelector("code, .mono");
  if (shown) {
    getSelection()?.selectAllChildren(shown);
    showToast(text.copy.selected);
  }
  return false;
}

function copyByTextArea(value: string, button: HTMLElement | null): boolean {
  const area = document.createElement("textarea");
  area.value = value;
  area.className = "unseen";
  area.readOnly = true;
  // Below an open dialog the rest of the page is inert.
  (button?.closest("dialog") ?? document.body).append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } finally {
    area.remove();
    button?.focus();
  }
}
