// The dialog before an action that cannot be undone. Its button stands outside of forms, never first and
// never the default: Enter does nothing.

import { type ReactNode, useRef, useState } from "react";
import type { RequestError } from "../api/client.js";
import { text } from "../text/en.js";
import { organisationText } from "../text/organisation.js";
import { Button } from "./button.js";
import { Dialog } from "./dialog.js";
import { Field } from "./field.js";
import { useOnce } from "./once.js";
import { FormProblem } from "./problem.js";

interface Props {
  title: string;
  /** What happens. */
  children: ReactNode;
  /** What the button does. */
  button: string;
  /** The text that the person has to type first. */
  typed?: string | undefined;
  error: RequestError | null;
  isBusy: boolean;
  onConfirm: () => void;
  /** Cancelled by the person, or closed by the caller after the action. */
  onClose: () => void;
}

export function DangerDialog({ title, children, button, typed, error, isBusy, onConfirm, onClose }: Props) {
  const [value, setValue] = useState("");
  const isConfirmed = useRef(false);
  const isTyped = typed === undefined || plain(value) === plain(typed);
  const once = useOnce(isBusy);
  const confirm = () =>
    once(() => {
      isConfirmed.current = true;
      onConfirm();
    });
  const cancel = () => {
    isConfirmed.current = false;
    onClose();
  };
  return (
    <Dialog title={title} endsAtHeading={isConfirmed} onClose={cancel}>
      <div className="small soft stack tight">{children}</div>
      {typed !== undefined && (
        <Field
          label={organisationText.typeName(typed)}
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
      )}
      <FormProblem error={error} />
      <div className="row end">
        <Button data-autofocus={typed === undefined || undefined} onClick={cancel}>
          {text.cancel}
        </Button>
        <Button kind="danger" isBusy={isBusy || !isTyped} onClick={confirm}>
          {button}
        </Button>
      </div>
    </Dialog>
  );
}

/** The text as the label shows it: HTML collapses white space. */
function plain(value: string): string {
  return value.normalize("NFC").replace(/\s+/g, " ").trim();
}
