// A form that a script sends. The browser checks only that nothing required is empty.
//
// A browser alone sends nothing: `form-action` of the page's policy forbids it. Without that policy
// `method="post"` keeps passwords out of the address.

import { type ReactNode, useEffect, useRef } from "react";
import type { RequestError } from "../api/client.js";
import { useOnce } from "./once.js";

interface Props {
  /** The error of the last attempt. The first field that it names gets the focus. */
  error: RequestError | null;
  /** Whether an attempt is under way or has to wait. */
  isBusy: boolean;
  onSubmit: () => void;
  children: ReactNode;
}

export function Form({ error, isBusy, onSubmit, children }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const once = useOnce(isBusy);
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);
  return (
    <form
      ref={form}
      method="post"
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        once(onSubmit);
      }}
    >
      {children}
    </form>
  );
}
