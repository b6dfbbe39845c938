// Action, person, days, object. Each change is in the address at once.

import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import type { AuditFilter } from "../../api/audit.js";
import { peopleQuery } from "../../api/people.js";
import { focusHeading } from "../../frame/page.js";
import { useSettings } from "../../frame/settings.js";
import { Button } from "../../parts/button.js";
import { Chip } from "../../parts/chip.js";
import { DayField, dayOf, lastDayBefore, startOf } from "../../parts/day-field.js";
import { Filter } from "../../parts/filter.js";
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
  /** By a button that disappears with the filter. */
  const remove = (...names: (keyof AuditFilter)[]) => {
    onChange(names.reduce((left, name) => withValue(left, name, ""), filter));
    focusHeading();
  };
  const first = filter.from === undefined ? "" : dayOf(filter.from, times);
  const last = filter.to === undefined ? "" : lastDayBefore(filter.to, times);
  const actors = [
    ...(people.data ?? []).map(({ id, name, email }) => ({ value: id, name: name === null ? email : `${name}, ${email}` })),
    ...Object.entries(auditText.actors).map(([value, name]) => ({ value, name })),
  ];
  const actions = Object.entries(auditText.groups).map(([value, name]) => ({ value, name }));
  return (
    <section className="toolbar filters" aria-label={auditText.filters}>
      <Filter
        label={auditText.action}
        all={auditText.anyAction}
        options={withChosen(actions, filter.action)}
        value={filter.action ?? ""}
        onChange={(value) => set("action", value)}
      />
      <Filter
        label={auditText.person}
        all={auditText.anyone}
        options={withChosen(actors, filter.actor)}
        value={filter.actor ?? ""}
        onChange={(value) => set("actor", value)}
      />
      <Chip
        name={auditText.date}
        value={first === "" && last === "" ? null : auditText.dates(first, last)}
        removeLabel={auditText.removeFilter(auditText.date)}
        onRemove={() => remove("from", "to")}
      >
        {() => (
          <div className="stack tight">
            <DayField label={auditText.from} day={first} onChange={(day) => set("from", day && startOf(day, times))} />
            <DayField label={auditText.to} day={last} onChange={(day) => set("to", day && startOf(day, times, 1))} />
          </div>
        )}
      </Chip>
      {filter.object !== undefined && (
        <p className="row object">
          <span className="small soft clip">
            {auditText.object} <span className="mono">{filter.object}</span>
          </span>
          <Button size="small" aria-label={auditText.removeFilter(auditText.object)} onClick={() => remove("object")}>
            <X className="i" aria-hidden />
          </Button>
        </p>
      )}
    </section>
  );
}

/** The chosen value is among the choices, even if the page does not know it. */
function withChosen(known: { value: string; name: string }[], chosen: string | undefined) {
  const isKnown = chosen === undefined || known.some(({ value }) => value === chosen);
  return isKnown ? known : [...known, { value: chosen, name: chosen }];
}
