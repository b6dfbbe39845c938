// A filter of a list: a small list of choices whose first one is "all".

import { ChevronDown } from "lucide-react";

interface Props<Value extends string> {
  label: string;
  /** The name of "all". */
  all: string;
  options: { value: Value; name: string }[];
  /** Empty for "all". */
  value: Value | "";
  onChange: (value: Value | "") => void;
}

export function Filter<Value extends string>({ label, all, options, value, onChange }: Props<Value>) {
  return (
    <span className={value === "" ? "filter" : "filter set"}>
      <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value as Value | "")}>
        <option value="">{all}</option>
        {options.map(({ value, name }) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      <ChevronDown className="i" aria-hidden />
    </span>
  );
}
