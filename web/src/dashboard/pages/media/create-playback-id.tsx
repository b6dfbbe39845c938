// The form of a new playback ID: all that the API takes.

import { useState } from "react";
import type { AccessPolicy, Media } from "../../api/media-types.js";
import { type NewPlaybackId, useCreatePlaybackId } from "../../api/playback-ids.js";
import { Button } from "../../parts/button.js";
import { Choice } from "../../parts/choice.js";
import { Form } from "../../parts/form.js";
import { Panel } from "../../parts/panel.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { Select } from "../../parts/select.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { playbackText as words } from "../../text/media-tabs.js";
import { mediaText } from "../../text/media.js";
import { Request } from "./request.js";
import { fieldsOfRules, isEmpty, NO_RULES, type RuleDrafts, restrictionsOf } from "./rule-draft.js";
import { RuleFields } from "./rule-fields.js";

const RESOLUTIONS = ["480p", "720p", "1080p", "1440p", "2160p"] as const;
const PREFIX = "accessRestrictions.";

export function CreatePlaybackId({ media, onClose }: { media: Media; onClose: () => void }) {
  const [accessPolicy, setPolicy] = useState<AccessPolicy>("public");
  const [resolution, setResolution] = useState<(typeof RESOLUTIONS)[number] | "">("");
  const [encryption, setEncryption] = useState<"none" | "aes-128">("none");
  const [rules, setRules] = useState<RuleDrafts>(NO_RULES);
  const create = useCreatePlaybackId(media);
  const error = requestError(create.error);
  const body: NewPlaybackId = {
    accessPolicy,
    ...(resolution !== "" && { resolution }),
    ...(encryption !== "none" && { encryption }),
    ...(!isEmpty(rules) && { accessRestrictions: restrictionsOf(rules) }),
  };
  const submit = () =>
    create.mutate(body, {
      onSuccess: () => {
        showToast(words.created);
        onClose();
      },
    });
  return (
    <Panel title={words.add}>
      <Form error={error} isBusy={create.isPending} onSubmit={submit}>
        <Choice label={words.policy} hint={words.policyHints[accessPolicy]} names={mediaText.policies} value={accessPolicy} onChange={setPolicy} />
        <div className="pair even">
          <Select
            label={words.resolution}
            options={[{ value: "" as const, name: words.anyResolution }, ...RESOLUTIONS.map((value) => ({ value, name: value }))]}
            value={resolution}
            problem={error?.of("resolution") ?? null}
            onChange={setResolution}
          />
          <Choice label={words.encryption} hint={words.encryptionHint} names={words.encryptions} value={encryption} onChange={setEncryption} />
        </div>
        <details className="request">
          <summary className="small soft">{words.rules}</summary>
          <RuleFields drafts={rules} error={error} prefix={PREFIX} onChange={setRules} />
        </details>
        <FormProblem error={error} shown={["resolution", ...fieldsOfRules(error, PREFIX)]} />
        <Request method="POST" path={`/on-demand/${media.id}/playback-ids`} body={body} />
        <div className="row">
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            {words.create}
          </Button>
          <Button kind="plain" onClick={onClose}>
            {text.cancel}
          </Button>
        </div>
      </Form>
    </Panel>
  );
}
