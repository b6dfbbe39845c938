// Opens the finder: by its button and by `Ctrl K`. `/` goes to the search of the page, else to the finder.

import { lazy, Suspense, useEffect, useState } from "react";
import { Search } from "lucide-react";
import type { Session, Workspace } from "../api/types.js";
import { text } from "../text/en.js";
import type { Entry } from "./navigation.js";
import { useSettings } from "./settings.js";

const load = () => import("./finder.js");
const Finder = lazy(load);
/** When the page has settled: keys that follow `Ctrl K` at once would be lost while the script loads. */
const LOADED_AFTER_MS = 3000;
/** Targets of keys that are text. */
const TYPED_INTO = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

interface Props {
  session: Session;
  workspace: Workspace | null;
  entries: Entry[];
}

export function FinderButton({ session, workspace, entries }: Props) {
  const { keys } = useSettings();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => void load().catch(() => {}), LOADED_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open]")) return;
      const isText = event.target instanceof Element && event.target.matches(TYPED_INTO);
      const isFinder = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
      const isSearch = keys && !isText && event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (!isFinder && !isSearch) return;
      event.preventDefault();
      const search = document.querySelector<HTMLInputElement>("main [data-search]");
      if (isSearch && search) {
        search.focus();
        search.select();
      }
      else setOpen(true);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [keys]);
  return (
    <>
      <button type="button" className="find" title={text.finder.open} aria-keyshortcuts="Control+K" onClick={() => setOpen(true)}>
        <Search className="i" aria-hidden />
        <span className="clip">{text.finder.open}</span>
        <kbd className="wide-only" aria-hidden>{text.finder.key}</kbd>
      </button>
      {isOpen && (
        <Suspense>
          <Finder session={session} workspace={workspace} entries={entries} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
