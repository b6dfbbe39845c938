// Clips of a media: their list, and the form of a new one.

import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Scissors } from "lucide-react";
import { Link } from "wouter";
import { clipBody, clipsQuery, useCreateClip } from "../../api/media.js";
import type { AccessPolicy, Media } from "../../api/media-types.js";
import { Ago } from "../../parts/ago.js";
import { Button } from "../../parts/button.js";
import { Card } from "../../parts/card.js";
import { Choice } from "../../parts/choice.js";
import { Duration, clock, secondsOf } from "../../parts/duration.js";
import { Field } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { Loading } from "../../parts/loading.js";
import { MediaState } from "../../parts/media-state.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { mediaPageText } from "../../text/media-page.js";
import { mediaText } from "../../text/media.js";
import { Request } from "./request.js";

const words = mediaPageText.clips;
/** Path of a field in the errors of the API, before the name. */
const INPUT = "inputs[0].";

export function Clips({ media, mayChange }: { media: Media; mayChange: boolean }) {
  const [isCreating, setCreating] = useState(false);
  const clips = useQuery(clipsQuery(media));
  return (
    <Card
      title={words.title}
      lead={words.lead}
      actions={
        mayChange &&
        !isCreating && (
          <Button size="small" onClick={() => setCreating(true)}>
            <Scissors className="i" aria-hidden />
            {words.create}
          </Button>
        )
      }
    >
      <div className="stack">
        {isCreating && <CreateClip media={media} onClose={() => setCreating(false)} />}
        {clips.data === undefined && <Loading query={clips} queryKey={clipsQuery(media).queryKey} lines={1} />}
        {clips.data?.entries.length === 0 && !isCreating && <p className="small faint">{words.none}</p>}
        {clips.data !== undefined && clips.data.entries.length > 0 && (
          <ul className="list">
            {clips.data.entries.map((clip) => (
              <li key={clip.id}>
                <div className="words">
                  <Link className="link strong small" href={`/w/${media.workspaceId}/media/${clip.id}`}>
                    {words.open(clock(secondsOf(clip.duration)))}
                  </Link>
                  <div className="xs faint">
                    <Ago at={clip.createdAt} /> · <Duration value={clip.duration} />
                  </div>
                </div>
                <span className="end">
                  <MediaState media={clip} />
                </span>
              </li>
            ))}
          </ul>
        )}
        {clips.data !== undefined && clips.data.nextCursor !== null && (
          <p className="xs faint">{words.more(clips.data.entries.length, clips.data.total)}</p>
        )}
      </div>
    </Card>
  );
}

function CreateClip({ media, onClose }: { media: Media; onClose: () => void }) {
  const [startTime, setStart] = useState("0");
  const [endTime, setEnd] = useState(String(secondsOf(media.duration)));
  const [title, setTitle] = useState("");
  const [accessPolicy, setPolicy] = useState<AccessPolicy>("public");
  const create = useCreateClip(media);
  const error = requestError(create.error);
  const body = clipBody(media, { startTime: Number(startTime), endTime: Number(endTime), title, accessPolicy });
  const submit = () =>
    create.mutate(body, {
      onSuccess: () => {
        showToast(words.done);
        onClose();
      },
    });
  const problem = (field: string) => error?.of(`${INPUT}${field}`) ?? null;
  return (
    <Form error={error} isBusy={create.isPending} onSubmit={submit}>
      <div className="pair even">
        <Field
          label={words.start}
          inputMode="decimal"
          type="number"
          min="0"
          step="any"
          required
          autoFocus
          value={startTime}
          problem={problem("startTime")}
          onChange={(event) => setStart(event.target.value)}
        />
        <Field
          label={words.end}
          inputMode="decimal"
          type="number"
          min="0"
          step="any"
          required
          value={endTime}
          problem={problem("endTime")}
          onChange={(event) => setEnd(event.target.value)}
        />
      </div>
      <Field
        label={words.name}
        autoComplete="off"
        maxLength={255}
        value={title}
        problem={error?.of("title") ?? null}
        onChange={(event) => setTitle(event.target.value)}
      />
      <Choice label={words.policy} names={mediaText.policies} value={accessPolicy} onChange={setPolicy} />
      <FormProblem error={error} shown={[`${INPUT}startTime`, `${INPUT}endTime`, "title"]} />
      <Request method="POST" path="/on-demand" body={body} />
      <div className="row">
        <Button type="submit" kind="primary" isBusy={create.isPending}>
          {words.button}
        </Button>
        <Button kind="plain" onClick={onClose}>
          {text.cancel}
        </Button>
      </div>
    </Form>
  );
}
