// The form of what a person may write about a media. It is sent for the version that it was opened with.
//
// If another change came first, and it concerns these fields, both versions are shown. A change of anything
// else, such as the end of an upload, is no conflict: the form is sent again for the new version.

import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { RequestError } from "../../api/client.js";
import { readAgain, useChangeMedia } from "../../api/media.js";
import type { Media } from "../../api/media-types.js";
import { AskBeforeLeaving } from "../../parts/ask-before-leaving.js";
import { Button, IconButton } from "../../parts/button.js";
import { Card } from "../../parts/card.js";
import { Field } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { mediaPageText } from "../../text/media-page.js";
import { Conflict } from "./conflict.js";
import { detailsOf, duplicateOf, isSame, METADATA_MAX, type Row, rowsOf, write } from "./draft.js";
import { Request } from "./request.js";

const words = mediaPageText.edit;
const VALUE_MAX = 255;

interface Props {
  media: Media;
  etag: string | null;
  onClose: () => void;
}

export function EditDetails({ media, etag, onClose }: Props) {
  const client = useQueryClient();
  const [base, setBase] = useState({ details: detailsOf(media), etag });
  const [title, setTitle] = useState(media.title ?? "");
  const [creatorId, setCreator] = useState(media.creatorId ?? "");
  const [rows, setRows] = useState<Row[]>(() => rowsOf(media.metadata));
  const [problem, setProblem] = useState<string | null>(null);
  const [theirs, setTheirs] = useState<{ media: Media; etag: string | null } | null>(null);
  const change = useChangeMedia(media);
  const error = theirs === null ? requestError(change.error) : null;
  const mine = write(title, creatorId, rows);
  const isChanged = !isSame(mine, base.details);

  const onSaved = () => {
    showToast(words.saved);
    onClose();
  };
  const save = (ifMatch: string | null) => change.mutate({ body: mine, ifMatch }, { onSuccess: onSaved, onError: onSaveError });
  const onSaveError = async (saveError: unknown) => {
    if (!(saveError instanceof RequestError) || saveError.status !== 412) return;
    const now = await readAgain(client, media).catch(() => null);
    if (now === null) return;
    if (isSame(detailsOf(now.data), base.details)) {
      setBase({ ...base, etag: now.etag });
      save(now.etag);
    } else {
      setTheirs({ media: now.data, etag: now.etag });
    }
  };
  const submit = () => {
    const duplicate = duplicateOf(rows);
    setProblem(duplicate === null ? null : words.duplicate(duplicate));
    if (duplicate === null) save(base.etag);
  };
  const setRow = (id: number, part: Partial<Row>) => setRows(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));

  return (
    <Card title={mediaPageText.facts.title}>
      <AskBeforeLeaving isOn={isChanged} {...mediaPageText.leaving} />
      {theirs !== null && (
        <Conflict
          mine={mine}
          theirs={detailsOf(theirs.media)}
          onKeepMine={() => {
            setTheirs(null);
            setBase({ details: detailsOf(theirs.media), etag: theirs.etag });
            save(theirs.etag);
          }}
          onTakeTheirs={onClose}
        />
      )}
      <Form error={error} isBusy={change.isPending || theirs !== null} onSubmit={submit}>
        <Field
          label={words.title}
          autoComplete="off"
          autoFocus
          dir="auto"
          value={title}
          problem={error?.of("title") ?? null}
          onChange={(event) => setTitle(event.target.value)}
        />
        <Field
          label={words.creatorId}
          hint={words.creatorHint}
          autoComplete="off"
          dir="auto"
          value={creatorId}
          problem={error?.of("creatorId") ?? null}
          onChange={(event) => setCreator(event.target.value)}
        />
        <fieldset className="stack tight">
          <legend className="small strong">{words.metadata}</legend>
          {rows.map((row, at) => (
            <MetadataRow
              key={row.id}
              row={row}
              number={at + 1}
              problem={error?.of(`metadata.${row.key}`) ?? null}
              onChange={(part) => setRow(row.id, part)}
              onRemove={() => setRows(rows.filter(({ id }) => id !== row.id))}
            />
          ))}
          {rows.length < METADATA_MAX && (
            <div>
              <Button size="small" onClick={() => setRows([...rows, { id: nextId(rows), key: "", value: "", isNew: true }])}>
                <Plus className="i" aria-hidden />
                {words.add}
              </Button>
            </div>
          )}
        </fieldset>
        <div role="alert">{problem !== null && <p className="problem">{problem}</p>}</div>
        <FormProblem error={error} shown={["title", "creatorId", ...rows.map(({ key }) => `metadata.${key}`)]} />
        <Request method="PATCH" path={`/on-demand/${media.id}`} body={mine} />
        <div className="row">
          <Button type="submit" kind="primary" isBusy={change.isPending || theirs !== null}>
            {text.save}
          </Button>
          <Button kind="plain" onClick={onClose}>
            {text.cancel}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function nextId(rows: Row[]): number {
  return Math.max(0, ...rows.map(({ id }) => id)) + 1;
}

interface RowProps {
  row: Row;
  number: number;
  problem: string | null;
  onChange: (part: Partial<Row>) => void;
  onRemove: () => void;
}

function MetadataRow({ row, number, problem, onChange, onRemove }: RowProps) {
  const input = (part: "key" | "value") => ({
    className: "input",
    "aria-label": part === "key" ? words.key(number) : words.value(number),
    placeholder: part === "key" ? words.keyName : words.valueName,
    autoComplete: "off",
    dir: "auto",
    maxLength: part === "key" ? VALUE_MAX : undefined,
    value: row[part],
    onChange: (event: { target: HTMLInputElement }) => onChange({ [part]: event.target.value }),
  });
  return (
    <div className="field">
      <div className="metadata-row">
        <input {...input("key")} required autoFocus={row.isNew} />
        <input {...input("value")} aria-invalid={problem !== null || undefined} />
        <IconButton label={words.remove(row.key)} onClick={onRemove}>
          <X className="i" aria-hidden />
        </IconButton>
      </div>
      {problem !== null && <p className="problem">{`${row.key} ${problem}`}</p>}
    </div>
  );
}
