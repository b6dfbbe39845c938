// Forms of tracks: a new one, and changes of an added one.

import { useState } from "react";
import type { Media, Track } from "../../api/media-types.js";
import { type NewTrack, useAddTrack, useChangeTrack } from "../../api/tracks.js";
import { Button } from "../../parts/button.js";
import { Choice } from "../../parts/choice.js";
import { Field } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { Panel } from "../../parts/panel.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { tracksText as words } from "../../text/media-tabs.js";
import { Request } from "./request.js";

const FIELDS = ["url", "languageCode", "languageName"];

export function AddTrack({ media, onClose }: { media: Media; onClose: () => void }) {
  const [track, setTrack] = useState<NewTrack>({ type: "subtitle", url: "", languageCode: "", languageName: "" });
  const add = useAddTrack(media);
  const error = requestError(add.error);
  const set = (part: Partial<NewTrack>) => setTrack({ ...track, ...part });
  const submit = () =>
    add.mutate(track, {
      onSuccess: () => {
        showToast(words.added);
        onClose();
      },
    });
  const problem = (field: string) => error?.of(`tracks.${field}`) ?? null;
  return (
    <Panel title={words.add}>
      <p className="small soft">{words.addLead}</p>
      <Form error={error} isBusy={add.isPending} onSubmit={submit}>
        <Choice label={words.type} names={words.addTypes} value={track.type} onChange={(type) => set({ type })} />
        <Field
          label={words.url}
          inputMode="url"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
          value={track.url}
          problem={problem("url")}
          onChange={(event) => set({ url: event.target.value })}
        />
        <Language code={track.languageCode} name={track.languageName} problem={problem} onChange={set} />
        <FormProblem error={error} shown={FIELDS.map((field) => `tracks.${field}`)} />
        <Request method="POST" path={`/on-demand/${media.id}/tracks`} body={{ tracks: track }} />
        <div className="row">
          <Button type="submit" kind="primary" isBusy={add.isPending}>
            {words.addButton}
          </Button>
          <Button kind="plain" onClick={onClose}>
            {text.cancel}
          </Button>
        </div>
      </Form>
    </Panel>
  );
}

export function ChangeTrack({ media, track, onClose }: { media: Media; track: Track; onClose: () => void }) {
  const [url, setUrl] = useState("");
  const [language, setLanguage] = useState({ languageCode: track.languageCode ?? "", languageName: track.languageName ?? "" });
  const change = useChangeTrack(media);
  const error = requestError(change.error);
  const body = { ...language, ...(url !== "" && { url }) };
  const submit = () =>
    change.mutate(
      { id: track.id, ...body },
      {
        onSuccess: () => {
          showToast(words.changed);
          onClose();
        },
      },
    );
  const problem = (field: string) => error?.of(field) ?? null;
  return (
    <Panel title={words.changeTitle(track.languageName ?? words.types[track.type])}>
      <Form error={error} isBusy={change.isPending} onSubmit={submit}>
        <Language code={language.languageCode} name={language.languageName} problem={problem} onChange={(part) => setLanguage({ ...language, ...part })} />
        <Field
          label={words.newUrl}
          hint={words.newUrlHint}
          inputMode="url"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          value={url}
          problem={problem("url")}
          onChange={(event) => setUrl(event.target.value)}
        />
        <FormProblem error={error} shown={FIELDS} />
        <Request method="PATCH" path={`/on-demand/${media.id}/tracks/${track.id}`} body={body} />
        <div className="row">
          <Button type="submit" kind="primary" isBusy={change.isPending}>
            {text.save}
          </Button>
          <Button kind="plain" onClick={onClose}>
            {text.cancel}
          </Button>
        </div>
      </Form>
    </Panel>
  );
}

interface LanguageProps {
  code: string;
  name: string;
  problem: (field: string) => string | null;
  onChange: (part: { languageCode?: string; languageName?: string }) => void;
}

function Language({ code, name, problem, onChange }: LanguageProps) {
  return (
    <div className="pair even">
      <Field
        label={words.code}
        hint={words.codeHint}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        required
        maxLength={35}
        value={code}
        problem={problem("languageCode")}
        onChange={(event) => onChange({ languageCode: event.target.value })}
      />
      <Field
        label={words.name}
        hint={words.nameHint}
        autoComplete="off"
        dir="auto"
        required
        maxLength={255}
        value={name}
        problem={problem("languageName")}
        onChange={(event) => onChange({ languageName: event.target.value })}
      />
    </div>
  );
}
