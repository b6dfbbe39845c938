// The filters of the library as chips.

import { useState } from "react";
import type { MediaFilter } from "../../api/media-list.js";
import { focusHeading } from "../../frame/page.js";
import { useSettings } from "../../frame/settings.js";
import { Button } from "../../parts/button.js";
import { Chip } from "../../parts/chip.js";
import { DayField, dayOf, lastDayBefore, startOf } from "../../parts/day-field.js";
import { Field } from "../../parts/field.js";
import { Filter } from "../../parts/filter.js";
import { Form } from "../../parts/form.js";
import { libraryText } from "../../text/library.js";
import { mediaText } from "../../text/media.js";
import { STATUSES, withValues } from "./filter.js";

/** Lengths of ranges to choose, in days. */
const RANGES = [1, 7, 30];
/** Pairs of metadata in one request. */
const METADATA_MAX = 10;

interface Props {
  filter: MediaFilter;
  onChange: (filter: MediaFilter) => void;
}

export function Chips({ filter, onChange }: Props) {
  const set = (values: Parameters<typeof withValues>[1]) => onChange(withValues(filter, values));
  /** By a button that disappears with the filter. */
  const remove = (values: Parameters<typeof withValues>[1]) => {
    set(values);
    focusHeading();
  };
  const { metadata = {} } = filter;
  return (
    <>
      <Filter
        label={libraryText.state}
        all={libraryText.anyState}
        options={STATUSES.map((value) => ({ value, name: mediaText.states[value] }))}
        value={filter.status ?? ""}
        onChange={(status) => set({ status: status === "" ? undefined : status })}
      />
      <Created filter={filter} onChange={set} onRemove={() => remove({ from: undefined, to: undefined })} />
      <Chip
        name={libraryText.creator}
        value={filter.creatorId === undefined ? null : libraryText.set(libraryText.creator, filter.creatorId)}
        removeLabel={libraryText.remove(libraryText.creator)}
        onRemove={() => remove({ creatorId: undefined })}
      >
        {(close) => <Creator value={filter.creatorId ?? ""} onApply={(creatorId) => (close(), set({ creatorId }))} />}
      </Chip>
      {Object.entries(metadata).map(([key, value]) => (
        <Chip
          key={key}
          name={libraryText.metadata}
          value={libraryText.set(key, value || libraryText.anyValue)}
          removeLabel={libraryText.remove(key)}
          onRemove={() => remove({ metadata: Object.fromEntries(Object.entries(metadata).filter(([name]) => name !== key)) })}
        >
          {(close) => <Entry name={key} value={value} onApply={(_key, next) => (close(), set({ metadata: { ...metadata, [key]: next } }))} />}
        </Chip>
      ))}
      {Object.keys(metadata).length < METADATA_MAX && (
        <Chip name={libraryText.metadata} value={null} removeLabel="" onRemove={() => {}}>
          {(close) => <Entry onApply={(key, value) => (close(), set({ metadata: { ...metadata, [key]: value } }))} />}
        </Chip>
      )}
    </>
  );
}

interface CreatedProps {
  filter: MediaFilter;
  onChange: (values: Pick<MediaFilter, "from" | "to"> | { from: undefined; to: undefined }) => void;
  onRemove: () => void;
}

function Created({ filter: { from, to }, onChange, onRemove }: CreatedProps) {
  const { times } = useSettings();
  const first = from === undefined ? "" : dayOf(from, times);
  const last = to === undefined ? "" : lastDayBefore(to, times);
  const change = (from: string, to: string) =>
    onChange({ ...(from && { from: startOf(from, times) }), ...(to && { to: startOf(to, times, 1) }) } as CreatedProps["filter"]);
  const isSet = from !== undefined || to !== undefined;
  return (
    <Chip
      name={libraryText.created}
      value={isSet ? libraryText.set(libraryText.created, libraryText.days(first || null, last || null)) : null}
      removeLabel={libraryText.remove(libraryText.created)}
      onRemove={onRemove}
    >
      {(close) => (
        <div className="stack tight">
          <div className="row wrap">
            {RANGES.map((days) => (
              <Button
                key={days}
                size="small"
                onClick={() => {
                  close();
                  onChange({ from: startOf(dayOf(new Date().toISOString(), times), times, 1 - days) });
                }}
              >
                {libraryText.lastDays(days)}
              </Button>
            ))}
          </div>
          <DayField label={libraryText.from} day={first} onChange={(day) => change(day, last)} />
          <DayField label={libraryText.to} day={last} onChange={(day) => change(first, day)} />
        </div>
      )}
    </Chip>
  );
}

function Creator({ value: before, onApply }: { value: string; onApply: (value: string) => void }) {
  const [value, setValue] = useState(before);
  return (
    <Form error={null} isBusy={false} onSubmit={() => onApply(value.trim())}>
      <Field label={libraryText.creatorId} value={value} maxLength={255} onChange={(event) => setValue(event.target.value)} />
      <Button type="submit">{libraryText.apply}</Button>
    </Form>
  );
}

/** A pair of metadata. The key of an existing one stays. */
function Entry({ name, value: before = "", onApply }: { name?: string; value?: string; onApply: (key: string, value: string) => void }) {
  const [key, setKey] = useState(name ?? "");
  const [value, setValue] = useState(before);
  const apply = () => {
    onApply(key, value);
    if (name !== undefined) return;
    setKey("");
    setValue("");
  };
  return (
    <Form error={null} isBusy={false} onSubmit={apply}>
      <Field label={libraryText.key} value={key} required readOnly={name !== undefined} maxLength={255} onChange={(event) => setKey(event.target.value)} />
      <Field label={libraryText.value} hint={libraryText.valueHint} value={value} maxLength={255} onChange={(event) => setValue(event.target.value)} />
      <Button type="submit">{libraryText.apply}</Button>
    </Form>
  );
}
