// A labelled input with its hint and the rule that its value breaks.

import { type InputHTMLAttributes, type ReactNode, useId, useState } from "react";
import { Eye, EyeOff } from "lucide-react";
import { sentence, text } from "../text/en.js";
import { IconButton } from "./button.js";

interface Props extends InputHTMLAttributes<HTMLInputElement> {
  label: string;
  /** The label is for screen readers only. */
  isLabelHidden?: boolean;
  hint?: string;
  /** The message of the server for this field, of a 422. It follows the label: "must have …". */
  problem?: string | null;
  /** Beside the label. */
  beside?: ReactNode;
  /** In the input, at its end. */
  inside?: ReactNode;
}

export function Field({ label, isLabelHidden = false, hint, problem = null, beside, inside, ...rest }: Props) {
  const id = useId();
  const described = [problem === null ? null : `${id}-problem`, hint === undefined ? null : `${id}-hint`];
  return (
    <div className="field">
      <div className={isLabelHidden ? "unseen" : "row"}>
        <label htmlFor={id}>{label}</label>
        {beside}
      </div>
      <div className="inset">
        <input
          {...rest}
          id={id}
          className="input"
          aria-invalid={problem !== null || undefined}
          aria-describedby={described.filter((part) => part !== null).join(" ") || undefined}
        />
        {inside}
      </div>
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

/** An email address. Browsers change international ones in `type="email"`, so it is text. */
export function EmailField(props: Omit<Props, "type">) {
  return (
    <Field
      {...props}
      name="email"
      inputMode="email"
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
      required
      maxLength={254}
    />
  );
}

/** A password that can be shown. Pasting is allowed. */
export function PasswordField(props: Omit<Props, "inside" | "type">) {
  const [isShown, setShown] = useState(false);
  return (
    <Field
      {...props}
      type={isShown ? "text" : "password"}
      required
      maxLength={256}
      autoCapitalize="none"
      spellCheck={false}
      inside={
        <IconButton
          label={isShown ? text.field.hide : text.field.show}
          aria-pressed={isShown}
          onClick={() => setShown(!isShown)}
        >
          {isShown ? <EyeOff className="i" aria-hidden /> : <Eye className="i" aria-hidden />}
        </IconButton>
      }
    />
  );
}
