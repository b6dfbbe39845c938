// A labelled input of several lines.

import { type TextareaHTMLAttributes, useId } from "react";
import { sentence } from "../text/en.js";

interface Props extends TextareaHTMLAttributes<HTMLTextAreaElement> {
  label: string;
  hint?: string;
  /** The message of the server for this field. It follows the label. */
  problem?: string | null;
}

export function TextArea({ label, hint, problem = null, ...rest }: Props) {
  const id = useId();
  const described = [problem === null ? null : `${id}-problem`, hint === undefined ? null : `${id}-hint`];
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        {...rest}
        id={id}
        className="input area"
        aria-invalid={problem !== null || undefined}
        aria-describedby={described.filter((part) => part !== null).join(" ") || undefined}
      />
      {problem !== null && (
        <p className="problem" id={`${id}-problem`}>
          {sentence(`${label} ${problem}`)}
        </p>
      )}
      {hint !== undefined && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
