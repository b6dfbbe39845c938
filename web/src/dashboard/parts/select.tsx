// A labelled list of choices.

import { type SelectHTMLAttributes, useId } from "react";
import { ChevronDown } from "lucide-react";
import { sentence } from "../text/en.js";

interface Props<Value extends string> extends Omit<SelectHTMLAttributes<HTMLSelectElement>, "value" | "onChange"> {
  label: string;
  hint?: string;
  /** The message of the server for this field. It follows the label. */
  problem?: string | null;
  options: { value: Value; name: string }[];
  value: Value;
  onChange: (value: Value) => void;
}

export function Select<Value extends string>({ label, hint, problem = null, options, value, onChange, ...rest }: Props<Value>) {
  const id = useId();
  const described = [problem === null ? null : `${id}-problem`, hint === undefined ? null : `${id}-hint`];
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="inset select">
        <select
          {...rest}
          id={id}
          className="input"
          value={value}
          aria-invalid={problem !== null || undefined}
          aria-describedby={described.filter((part) => part !== null).join(" ") || undefined}
          onChange={(event) => onChange(event.target.value as Value)}
        >
          {options.map(({ value, name }) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
        <ChevronDown className="i" aria-hidden />
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
