// One of a few values: radio buttons that look like one control.

import { useId } from "react";

interface Props<Value extends string> {
  label: string;
  /** The label is for screen readers only. */
  isLabelHidden?: boolean;
  hint?: string;
  names: Record<Value, string>;
  value: Value;
  onChange: (value: Value) => void;
}

export function Choice<Value extends string>({ label, isLabelHidden = false, hint, names, value, onChange }: Props<Value>) {
  const id = useId();
  return (
    <fieldset className="choice" aria-describedby={hint === undefined ? undefined : `${id}-hint`}>
      <legend className={isLabelHidden ? "unseen" : undefined}>{label}</legend>
      <div className="segment">
        {(Object.keys(names) as Value[]).map((name) => (
          <label key={name}>
            <input type="radio" name={id} checked={name === value} onChange={() => onChange(name)} />
            <span>{names[name]}</span>
          </label>
        ))}
      </div>
      {hint !== undefined && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </fieldset>
  );
}
