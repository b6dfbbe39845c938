// Copies text, also over plain HTTP, where the clipboard of the page does not exist.

import { type ReactNode, useRef } from "react";
import { Copy as CopyIcon } from "lucide-react";
import { text } from "../text/en.js";
import { Button, IconButton } from "./button.js";
import { showToast } from "./toast.js";

/** Whether the text was copied; else it is selected. */
type OnDone = (isCopied: boolean) => void;

function useCopy(value: string, onDone?: OnDone) {
  const ref = useRef<HTMLButtonElement>(null);
  const onClick = async () => {
    const isCopied = await copy(value, ref.current);
    if (isCopied) showToast(text.copy.done);
    onDone?.(isCopied);
  };
  return { ref, onClick };
}

/** A button that copies `value`; `what` completes its name. */
export function Copy({ value, what, className, onDone }: { value: string; what: string; className?: string; onDone?: OnDone }) {
  return (
    <IconButton {...useCopy(value, onDone)} className={className} label={text.copy.button(what)}>
      <CopyIcon className="i" aria-hidden />
    </IconButton>
  );
}

/** The same with words on it. */
export function CopyButton({ value, onDone, children }: { value: string; onDone?: OnDone; children: ReactNode }) {
  return <Button {...useCopy(value, onDone)}>{children}</Button>;
}

/** A line of text to copy. */
export function CopyLine({ value, what, onDone }: { value: string; what: string; onDone?: OnDone }) {
  return (
    <div className="copy">
      <code className="mono clip" title={value}>
        {value}
      </code>
      <Copy value={value} what={what} {...(onDone && { onDone })} />
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
