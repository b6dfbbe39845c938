// Keyboard shortcuts, which a person can switch off.

import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { text } from "../text/en.js";
import { uploadStartText } from "../text/upload-start.js";
import { openUploadPicker } from "../upload-ui/intake.js";
import type { Entry } from "./navigation.js";
import { useSettings } from "./settings.js";

/** How long the first key of a pair waits for the second. */
const PAIR_MS = 1500;
/** Targets of keys that are text. */
const TYPED_INTO = "input, textarea, select, [contenteditable]";

export function Shortcuts({ entries, mayUpload }: { entries: Entry[]; mayUpload: boolean }) {
  const { keys } = useSettings();
  const [, navigate] = useLocation();
  const [isListShown, showList] = useState(false);

  const pages = entries.filter(({ key }) => key !== undefined);
  const list = [
    ...pages.map(({ key, name }) => [`g ${key}`, text.keys.goTo(name)] as const),
    ...(mayUpload ? [["u", uploadStartText.key] as const] : []),
    ["/", text.finder.search] as const,
    [text.finder.key, text.finder.open] as const,
    ["?", text.keys.showList] as const,
  ];

  useEffect(() => {
    if (!keys) return undefined;
    let pressedAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent) => {
      const isText = event.target instanceof Element && event.target.matches(TYPED_INTO);
      const isOfBrowser = event.ctrlKey || event.metaKey || event.altKey;
      if (isText || isOfBrowser || document.querySelector("dialog[open]")) return;
      const isSecond = event.timeStamp - pressedAt < PAIR_MS;
      pressedAt = event.key === "g" ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (event.key === "?") showList(true);
      const target = isSecond && pages.find(({ key }) => key === event.key);
      if (target) navigate(target.href);
      else if (event.key === "u" && mayUpload) openUploadPicker();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [keys, mayUpload, navigate, pages]);

  if (!isListShown) return null;
  return (
    <Dialog title={text.keys.title} closesOutside onClose={() => showList(false)}>
      <dl className="facts">
        {list.map(([key, action]) => (
          <div key={key}>
            <dt>
              {key.split(" ").map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
      <div className="row end">
        <Button onClick={() => showList(false)}>{text.close}</Button>
      </div>
    </Dialog>
  );
}
