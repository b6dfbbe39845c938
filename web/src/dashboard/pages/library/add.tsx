// Adds a media from a URL, with the same as a request.

import { useState } from "react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { inWorkspace, send } from "../../api/client.js";
import type { AccessPolicy } from "../../api/media-types.js";
import { doorQuery } from "../../api/queries.js";
import type { Workspace } from "../../api/types.js";
import { Button } from "../../parts/button.js";
import { Choice } from "../../parts/choice.js";
import { CopyBlock } from "../../parts/copy.js";
import { Field } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { Panel } from "../../parts/panel.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { libraryText } from "../../text/library.js";
import { mediaText } from "../../text/media.js";
import { createCurl } from "../start/commands.js";

const words = libraryText.add;
const EXAMPLE_URL = "https://example.com/talk.mp4";
const URL_FIELD = "inputs[0].url";

interface Props {
  workspace: Workspace;
  onAdded: () => void;
  onClose: () => void;
}

export default function AddPanel({ workspace, onAdded, onClose }: Props) {
  const door = useQuery(doorQuery);
  const [url, setUrl] = useState("");
  const [title, setTitle] = useState("");
  const [accessPolicy, setPolicy] = useState<AccessPolicy>("public");
  const bodyFor = (url: string) => ({ inputs: [{ type: "video", url }], ...(title !== "" && { title }), accessPolicy });
  const add = useMutation({
    mutationFn: () => send("POST", inWorkspace(workspace.id, "/on-demand"), { body: bodyFor(url.trim()) }),
    onSuccess: () => {
      showToast(words.added);
      onAdded();
      onClose();
    },
  });
  const error = requestError(add.error);
  return (
    <Panel title={words.title}>
      <p className="small soft lead">{words.lead}</p>
      <Form error={error} isBusy={add.isPending} onSubmit={() => add.mutate()}>
        <div className="pair even">
          <Field
            label={words.url}
            hint={words.urlHint}
            problem={error?.of(URL_FIELD) ?? null}
            type="text"
            inputMode="url"
            autoFocus
            required
            autoComplete="off"
            spellCheck={false}
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
          <Field label={words.mediaTitle} problem={error?.of("title") ?? null} maxLength={255} dir="auto" value={title} onChange={(event) => setTitle(event.target.value)} />
        </div>
        <Choice label={words.policy} names={mediaText.policies} hint={words.policyHint} value={accessPolicy} onChange={setPolicy} />
        <FormProblem error={error} shown={[URL_FIELD, "title"]} />
        <div className="row">
          <Button kind="primary" type="submit" isBusy={add.isPending}>
            {words.button}
          </Button>
          <Button onClick={onClose}>{text.cancel}</Button>
        </div>
      </Form>
      {door.data && (
        <details className="request">
          <summary className="small soft">{words.requestTitle}</summary>
          <CopyBlock value={createCurl(`${door.data.publicUrl}/v1`, bodyFor(url.trim() || EXAMPLE_URL))} what={words.request} />
        </details>
      )}
    </Panel>
  );
}
