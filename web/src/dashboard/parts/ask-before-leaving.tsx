// Asks before the page is left: by a link, the Back button, or by closing the tab.

import { useEffect, useRef, useState } from "react";
import { guardNavigation, isDocumentEnding } from "../frame/leave.js";
import { Button } from "./button.js";
import { Dialog } from "./dialog.js";

interface Props {
  /** Whether something is unsaved. */
  isOn: boolean;
  title: string;
  lead: string;
  stay: string;
  leave: string;
}

/** Marks the entry in the history that the Back button leaves first. */
const ENTRY = "kinora.unsaved";

export function AskBeforeLeaving({ isOn, title, lead, stay, leave }: Props) {
  const [pending, setPending] = useState<{ leave: () => void } | null>(null);
  const isUnsaved = useRef(isOn);
  const isLeaving = useRef(false);
  useEffect(() => {
    isUnsaved.current = isOn;
    if (!isOn) return undefined;
    const onUnload = (event: BeforeUnloadEvent) => {
      if (!isDocumentEnding()) event.preventDefault();
    };
    addEventListener("beforeunload", onUnload);
    const endGuard = guardNavigation((leave) => setPending({ leave }));
    return () => {
      removeEventListener("beforeunload", onUnload);
      endGuard();
    };
  }, [isOn]);

  // The Back button cannot be prevented: it leaves an entry of the same address, and the page asks then.
  useEffect(() => {
    const push = () => history.pushState(ENTRY, "");
    const onBack = () => {
      if (isLeaving.current) return;
      if (isUnsaved.current) {
        push();
        setPending({ leave: () => history.go(-2) });
      } else {
        isLeaving.current = true;
        history.back();
      }
    };
    push();
    addEventListener("popstate", onBack);
    return () => {
      removeEventListener("popstate", onBack);
      if (history.state === ENTRY && !isDocumentEnding()) history.back();
    };
  }, []);

  if (pending === null) return null;
  return (
    <Dialog title={title} onClose={() => setPending(null)}>
      <p className="small soft">{lead}</p>
      <div className="row end">
        <Button kind="primary" data-autofocus onClick={() => setPending(null)}>
          {stay}
        </Button>
        <Button
          kind="danger"
          onClick={() => {
            isLeaving.current = true;
            setPending(null);
            pending.leave();
          }}
        >
          {leave}
        </Button>
      </div>
    </Dialog>
  );
}
