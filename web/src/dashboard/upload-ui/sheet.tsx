// The settings of files that have arrived: titles, who may play, resolution, metadata. One sheet for all.

import { useEffect, useRef, useState } from "react";
import { CircleAlert, Plus, X } from "lucide-react";
import type { AccessPolicy, MaxResolution } from "../api/media-types.js";
import type { Workspace } from "../api/types.js";
import { AskBeforeLeaving } from "../parts/ask-before-leaving.js";
import { Button, IconButton } from "../parts/button.js";
import { Choice } from "../parts/choice.js";
import { Dialog } from "../parts/dialog.js";
import { Field } from "../parts/field.js";
import { Form } from "../parts/form.js";
import { Question } from "../parts/question.js";
import { Select } from "../parts/select.js";
import { mediaText } from "../text/media.js";
import { text } from "../text/en.js";
import { uploadsText } from "../text/uploads.js";
import { endsOf } from "../upload/ends.js";
import { titleOf, TITLE_MAX } from "../upload/item.js";
import type { Added } from "../upload/entries.js";
import { type Arrival, type Chosen, chooseFiles } from "./intake.js";
import { type Pair, MetadataFields, recordOf } from "./metadata-fields.js";
import { useQueue } from "./use-queue.js";

const RESOLUTIONS: MaxResolution[] = ["2160p", "1440p", "1080p", "720p", "480p", "360p"];
const POLICY: AccessPolicy = "public";
const RESOLUTION: MaxResolution = "1080p";
const words = uploadsText.sheet;

/** A file of the sheet, once its ends are read. */
interface Entry {
  key: number;
  chosen: Chosen;
  title: string;
  /** `null` while it is read; `false` if it cannot be read. */
  ends: string | null | false;
}

let lastKey = 0;
const entryOf = (chosen: Chosen): Entry => ({ key: (lastKey += 1), chosen, title: titleOf(chosen.file.name), ends: null });

export function Sheet({ workspace, arrival, onClose }: { workspace: Workspace; arrival: Arrival; onClose: () => void }) {
  const queue = useQueue();
  // Where the files have arrived: Back can show another workspace below the sheet.
  const [{ id: workspaceId }] = useState(workspace);
  const [entries, setEntries] = useState(() => arrival.chosen.map(entryOf));
  const [policy, setPolicy] = useState<AccessPolicy>(POLICY);
  const [resolution, setResolution] = useState<MaxResolution>(RESOLUTION);
  const [pairs, setPairs] = useState<Pair[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [isUnsaved, setUnsaved] = useState(false);
  const [isAsking, setAsking] = useState(false);
  useMoreFiles(arrival, setEntries);
  useReadEnds(entries, setEntries);

  const usable = entries.filter(({ chosen, ends }) => chosen.file.size > 0 && ends !== false);
  const isReading = usable.some(({ ends }) => ends === null);
  const submit = async () => {
    const settings = { accessPolicy: policy, maxResolution: resolution, metadata: recordOf(pairs) };
    const added = usable.map(({ chosen, title, ends }): Added => ({ chosen, ends: ends || "", settings: { ...settings, title: title.trim() } }));
    setBusy(true);
    setUnsaved(false);
    try {
      await queue.add(workspaceId, added);
    } catch {
      setBusy(false);
      return setUnsaved(true);
    }
    onClose();
  };
  const isChanged =
    policy !== POLICY || resolution !== RESOLUTION || pairs.some(({ key, value }) => key + value !== "") || entries.some(({ chosen, title }) => title !== titleOf(chosen.file.name));
  const close = () => (isChanged ? setAsking(true) : onClose());
  return (
    <Dialog title={words.title(entries.length)} className="sheet" onClose={close}>
      <Form error={null} isBusy={isBusy || isReading || usable.length === 0} onSubmit={() => void submit()}>
        <ul className="chosen" aria-label={words.title(entries.length)}>
          {entries.map((entry) => (
            <EntryRow
              key={entry.key}
              entry={entry}
              onTitle={(title) => setEntries(entries.map((other) => (other === entry ? { ...entry, title } : other)))}
              onRemove={entries.length === 1 ? null : () => setEntries(entries.filter((other) => other !== entry))}
            />
          ))}
        </ul>
        <div className="row wrap xs soft">
          <Button size="small" onClick={() => void chooseFiles().then((chosen) => setEntries((before) => [...before, ...chosen.map(entryOf)]))}>
            <Plus className="i" aria-hidden />
            {words.more}
          </Button>
          <span>{words.whole(entries.reduce((sum, { chosen }) => sum + chosen.file.size, 0))}</span>
          {arrival.leftOut > 0 && <span role="status">{words.leftOut(arrival.leftOut)}</span>}
        </div>
        {arrival.unreadable.length > 0 && (
          <p className="xs problem" role="alert">
            {words.notRead(arrival.unreadable)}
          </p>
        )}
        <hr />
        <Choice label={words.policy} names={words.policies} hint={words.policyHint} value={policy} onChange={setPolicy} />
        <Select
          label={words.resolution}
          hint={words.resolutionHint}
          options={RESOLUTIONS.map((value) => ({ value, name: mediaText.resolution(value) }))}
          value={resolution}
          onChange={setResolution}
        />
        <MetadataFields pairs={pairs} onChange={setPairs} />
        {isUnsaved && (
          <div className="note bad" role="alert">
            <CircleAlert className="i" aria-hidden />
            <p>{words.notStored}</p>
          </div>
        )}
        <div className="row end actions">
          <Button onClick={close}>{text.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy || isReading || usable.length === 0}>
            {isReading ? words.reading : words.button(usable.length)}
          </Button>
        </div>
      </Form>
      <AskBeforeLeaving isOn={isChanged} onLeave={onClose} {...words.discard} />
      {isAsking && <Question {...words.discard} onStay={() => setAsking(false)} onLeave={onClose} />}
    </Dialog>
  );
}

interface RowProps {
  entry: Entry;
  onTitle: (title: string) => void;
  /** `null` for the only file. */
  onRemove: (() => void) | null;
}

function EntryRow({ entry: { chosen, title, ends }, onTitle, onRemove }: RowProps) {
  const { name, size } = chosen.file;
  const problem = size === 0 ? words.empty : ends === false ? words.unreadable : null;
  return (
    <li>
      <Field
        label={words.titleOf(name)}
        isLabelHidden
        value={title}
        maxLength={TITLE_MAX * 2}
        autoComplete="off"
        onChange={(event) => onTitle(Array.from(event.target.value).slice(0, TITLE_MAX).join(""))}
      />
      <span className="row xs soft">
        <bdi className="clip">{name}</bdi>
        <span className="nowrap">{uploadsText.size(size)}</span>
        {problem !== null && <span className="problem xs">{problem}</span>}
      </span>
      {onRemove !== null && (
        <IconButton label={words.remove(name)} onClick={onRemove}>
          <X className="i" aria-hidden />
        </IconButton>
      )}
    </li>
  );
}

/** Adds the files that are dropped while the sheet is open. */
function useMoreFiles({ chosen }: Arrival, setEntries: (change: (before: Entry[]) => Entry[]) => void): void {
  const taken = useRef(chosen.length);
  useEffect(() => {
    const more = chosen.slice(taken.current).map(entryOf);
    taken.current = chosen.length;
    if (more.length > 0) setEntries((before) => [...before, ...more]);
  }, [chosen, setEntries]);
}

/** Reads the ends of new files, one after another. */
function useReadEnds(entries: Entry[], setEntries: (change: (before: Entry[]) => Entry[]) => void): void {
  const unread = entries.find(({ ends, chosen }) => ends === null && chosen.file.size > 0);
  useEffect(() => {
    if (unread === undefined) return;
    void endsOf(unread.chosen.file)
      .catch(() => false as const)
      .then((ends) => setEntries((before) => before.map((entry) => (entry.key === unread.key ? { ...entry, ends } : entry))));
  }, [unread?.key, setEntries]);
}
