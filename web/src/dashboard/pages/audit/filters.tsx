// What, who, from, to. Each change is in the address at once.

import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import type { AuditFilter } from "../../api/audit.js";
import { peopleQuery } from "../../api/people.js";
import { focusHeading } from "../../frame/page.js";
import { useSettings } from "../../frame/settings.js";
import { Button } from "../../parts/button.js";
import { DayField, dayOf, lastDayBefore, startOf } from "../../parts/day-field.js";
import { Select } from "../../parts/select.js";
import { auditText } from "../../text/audit.js";
import { withValue } from "./filter.js";

interface Props {
  filter: AuditFilter;
  onChange: (filter: AuditFilter) => void;
}

export function Filters({ filter, onChange }: Props) {
  const { times } = useSettings();
  const people = useQuery(peopleQuery);
  const set = (name: keyof AuditFilter, value: string) => onChange(withValue(filter, name, value));
  const removeObject = () => {
    set("object", "");
    focusHeading(); // the button disappears
  };
  const actors = [
    ...(people.data ?? []).map(({ id, name, email }) => ({ value: id, name: name === null ? email : `${name}, ${email}` })),
    ...Object.entries(auditText.actors).map(([value, name]) => ({ value, name })),
  ];
  const actions = Object.entries(auditText.groups).map(([value, name]) => ({ value, name }));
  return (
    <section className="filters" aria-label={auditText.filters}>
      <Select
        label={auditText.what}
        options={optionsOf(auditText.anything, actions, filter.action)}
        value={filter.action ?? ""}
        onChange={(value) => set("action", value)}
      />
      <Select
        label={auditText.who}
        options={optionsOf(auditText.anyone, actors, filter.actor)}
        value={filter.actor ?? ""}
        onChange={(value) => set("actor", value)}
      />
      <DayField
        label={auditText.from}
        day={filter.from === undefined ? "" : dayOf(filter.from, times)}
        onChange={(day) => set("from", day && startOf(day, times))}
      />
      <DayField
        label={auditText.to}
        day={filter.to === undefined ? "" : lastDayBefore(filter.to, times)}
        onChange={(day) => set("to", day && startOf(day, times, 1))}
      />
      {filter.object !== undefined && (
        <p className="row all">
          <span className="small soft clip">
            {auditText.object} <span className="mono">{filter.object}</span>
          </span>
          <Button size="small" aria-label={auditText.removeFilter(auditText.object)} onClick={removeObject}>
            <X className="i" aria-hidden />
          </Button>
        </p>
      )}
    </section>
  );
}

/** All choices, with none first. The chosen value is among them, even if the page does not know it. */
function optionsOf(none: string, known: { value: string; name: string }[], chosen: string | undefined) {
  const isKnown = chosen === undefined || known.some(({ value }) => value === chosen);
  return [{ value: "", name: none }, ...known, ...(isKnown ? [] : [{ value: chosen, name: chosen }])];
}
