// Asks before the page is left: by a link, the Back button, or by closing the tab.

import { useEffect, useRef, useState } from "react";
import { guardNavigation, isDocumentEnding, isTopGuard } from "../frame/leave.js";
import { Question, type QuestionText } from "./question.js";

interface Props extends QuestionText {
  /** Whether something is unsaved. */
  isOn: boolean;
  /** The person leaves although something is unsaved. */
  onLeave?: () => void;
}

/** Marks the entries in the history that the Back button leaves first: one for each guard, by its number. */
const ENTRY = "kinora.unsaved";
let guardCount = 0;

export function AskBeforeLeaving({ isOn, onLeave, ...words }: Props) {
  const [entry] = useState(() => `${ENTRY}.${(guardCount += 1)}`);
  const [pending, setPending] = useState<{ leave: () => void } | null>(null);
  // From the first change on. It is pushed with that change: Back may follow at once.
  const [hasEntry, setHasEntry] = useState(isOn);
  const [wasOn, setWasOn] = useState(isOn);
  if (wasOn !== isOn) {
    setWasOn(isOn);
    setHasEntry(hasEntry || isOn);
  }
  const isUnsaved = useRef(isOn);
  const isLeaving = useRef(false);
  useEffect(() => {
    isUnsaved.current = isOn;
    if (!isOn) return undefined;
    isLeaving.current = false;
    const onInput = () => {
      isLeaving.current = false;
      setHasEntry(true);
    };
    const onUnload = (event: BeforeUnloadEvent) => {
      if (!isDocumentEnding() && !isLeaving.current) event.preventDefault();
    };
    addEventListener("beforeunload", onUnload);
    // No event says that there was no earlier page to leave for. But then the person goes on here.
    addEventListener("pointerdown", onInput);
    addEventListener("keydown", onInput);
    return () => {
      removeEventListener("beforeunload", onUnload);
      removeEventListener("pointerdown", onInput);
      removeEventListener("keydown", onInput);
    };
  }, [isOn]);

  // The Back button cannot be prevented: it leaves an entry of the same address, and the page asks then.
  // Without an unsaved change the page is left at once.
  useEffect(() => {
    if (!hasEntry) return undefined;
    const push = () => history.pushState(entry, "");
    const guard = (leave: () => void) => {
      if (isUnsaved.current) setPending({ leave });
      else leave();
    };
    const onBack = () => {
      if (!isTopGuard(guard) || history.state === entry) return;
      if (isUnsaved.current) {
        push();
        setPending({ leave: () => history.go(-2) });
      } else {
        setHasEntry(false);
        history.back();
      }
    };
    if (history.state !== entry) push();
    addEventListener("popstate", onBack);
    const endGuard = guardNavigation(guard);
    return () => {
      endGuard();
      removeEventListener("popstate", onBack);
      if (history.state === entry && !isLeaving.current && !isDocumentEnding()) history.back();
    };
  }, [hasEntry, entry]);

  if (pending === null) return null;
  return (
    <Question
      {...words}
      onStay={() => setPending(null)}
      onLeave={() => {
        isLeaving.current = true;
        setPending(null);
        setHasEntry(false);
        pending.leave();
        onLeave?.();
      }}
    />
  );
}
