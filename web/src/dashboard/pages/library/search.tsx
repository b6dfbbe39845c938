// The search of the library: the beginning of a title, or an id that leads to its page.

import { useEffect, useRef, useState } from "react";
import { Search as SearchIcon, X } from "lucide-react";
import { useLocation } from "wouter";
import { find, isId, pageOfFound } from "../../api/find.js";
import { requestError } from "../../parts/problem.js";
import { sentenceOf } from "../../text/en.js";
import { libraryText } from "../../text/library.js";

/** Pause of typing before the list is asked. */
const PAUSE_MS = 250;

interface Props {
  workspaceId: string;
  title: string;
  onChange: (title: string) => void;
}

export function Search({ workspaceId, title, onChange }: Props) {
  const [, navigate] = useLocation();
  const [typed, setTyped] = useState(title);
  const [message, setMessage] = useState("");
  const sent = useRef(title);
  const input = useRef<HTMLInputElement>(null);
  // A filter that was removed elsewhere, or "back".
  if (title !== sent.current) {
    sent.current = title;
    if (title !== typed) setTyped(title);
  }

  const open = async (id: string, signal: AbortSignal) => {
    setMessage(libraryText.looking);
    try {
      const [found] = await find(workspaceId, id, signal);
      const page = found && pageOfFound(workspaceId, found);
      if (page) navigate(page);
      else setMessage(libraryText.unknownId);
    } catch (error) {
      if (signal.aborted) return;
      const problem = requestError(error);
      setMessage(problem === null ? "" : sentenceOf(problem));
    }
  };
  useEffect(() => {
    setMessage("");
    const control = new AbortController();
    const timer = setTimeout(() => {
      if (isId(typed)) void open(typed, control.signal);
      else if (typed !== sent.current) {
        sent.current = typed;
        onChange(typed);
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
    // Only what is typed begins a search.
  }, [typed]);

  return (
    <search className="finder">
      <SearchIcon className="i" aria-hidden />
      <input
        ref={input}
        type="text"
        className="input"
        data-search
        aria-label={libraryText.search}
        aria-describedby="search-message"
        placeholder={libraryText.search}
        title={libraryText.searchHint}
        autoComplete="off"
        spellCheck={false}
        maxLength={255}
        dir="auto"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      {typed !== "" && (
        <button
          type="button"
          className="iconb"
          aria-label={libraryText.clearSearch}
          title={libraryText.clearSearch}
          onClick={() => {
            setTyped("");
            input.current?.focus();
          }}
        >
          <X className="i" aria-hidden />
        </button>
      )}
      <p id="search-message" role="status" className={message === "" ? "unseen" : "small soft message"}>
        {message}
      </p>
    </search>
  );
}
