// The rules of a playback ID, and a test of them.

import { useState } from "react";
import { TriangleAlert } from "lucide-react";
import type { AccessRestrictions, Media } from "../../api/media-types.js";
import { type PlaybackId, RULE_PATHS, useChangeRules, useCheckRules } from "../../api/playback-ids.js";
import { Button } from "../../parts/button.js";
import { Field } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { State } from "../../parts/state.js";
import { showToast } from "../../parts/toast.js";
import { sentence } from "../../text/en.js";
import { rulesText as words } from "../../text/media-tabs.js";
import { Request } from "./request.js";
import { changedKinds, fieldsOfRules, type RuleDrafts, restrictionsOf, ruleOf } from "./rule-draft.js";
import { RuleFields } from "./rule-fields.js";

export interface RulesProps {
  media: Media;
  playbackId: PlaybackId;
  mayChange: boolean;
  drafts: RuleDrafts;
  /** `null` when the rules are saved. */
  onDraft: (drafts: RuleDrafts | null) => void;
}

export function Rules({ media, playbackId, mayChange, drafts, onDraft }: RulesProps) {
  const change = useChangeRules(media, playbackId.id);
  const changed = changedKinds(drafts, playbackId.accessRestrictions);
  const error = requestError(change.error);
  const rules: Partial<AccessRestrictions> = Object.fromEntries(changed.map((kind) => [kind, ruleOf(drafts[kind])]));
  const submit = () => {
    if (changed.length === 0) return;
    change.mutate(rules, {
      onSuccess: () => {
        showToast(words.saved);
        onDraft(null);
      },
    });
  };
  return (
    <div className="rules stack">
      <Form error={error} isBusy={change.isPending} onSubmit={submit}>
        <RuleFields drafts={drafts} error={error} prefix="" isReadOnly={!mayChange} onChange={onDraft} />
        <div className="note">
          <TriangleAlert className="i" aria-hidden />
          <p>{words.warning}</p>
        </div>
        <FormProblem error={error} shown={fieldsOfRules(error, "")} />
        {changed.map((kind) => (
          <Request
            key={kind}
            method="PATCH"
            path={`/on-demand/${media.id}/playback-ids/${playbackId.id}/${RULE_PATHS[kind]}`}
            body={rules[kind]}
          />
        ))}
        {mayChange && (
          <div className="row">
            <Button type="submit" isBusy={change.isPending || changed.length === 0}>
              {words.save}
            </Button>
          </div>
        )}
      </Form>
      <Tester media={media} playbackId={playbackId} drafts={drafts} />
    </div>
  );
}

function Tester({ media, playbackId, drafts }: { media: Media; playbackId: PlaybackId; drafts: RuleDrafts }) {
  const [page, setPage] = useState("");
  const [userAgent, setUserAgent] = useState(navigator.userAgent);
  const check = useCheckRules(media, playbackId.id);
  const error = requestError(check.error);
  const question = {
    page: page.trim() === "" ? null : page.trim(),
    userAgent: userAgent === "" ? null : userAgent,
    accessRestrictions: restrictionsOf(drafts),
  };
  // The answer to an earlier question is not shown.
  const answer = !check.isPending && JSON.stringify(check.variables) === JSON.stringify(question) ? check.data : undefined;
  return (
    <section className="tester stack tight" aria-label={words.tester.title}>
      <h3>{words.tester.title}</h3>
      <p className="small soft">{words.tester.lead}</p>
      <Form error={error} isBusy={check.isPending} onSubmit={() => check.mutate(question)}>
        <div className="pair even">
          <Field
            label={words.tester.page}
            hint={words.tester.pageHint}
            placeholder="https://shop.example/product"
            inputMode="url"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            value={page}
            problem={error?.of("page") ?? null}
            onChange={(event) => setPage(event.target.value)}
          />
          <Field
            label={words.tester.userAgent}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            value={userAgent}
            problem={error?.of("userAgent") ?? null}
            onChange={(event) => setUserAgent(event.target.value)}
          />
        </div>
        <FormProblem error={error} shown={["page", "userAgent"]} />
        <div className="row wrap">
          <Button type="submit" size="small" isBusy={check.isPending}>
            {words.tester.check}
          </Button>
          <div role="status" className="row wrap">
            {answer !== undefined && (
              <>
                <State tone={answer.isAllowed ? "ok" : "bad"}>{answer.isAllowed ? words.tester.allowed : words.tester.rejected}</State>
                <span className="small soft">{sentence(answer.message)}</span>
              </>
            )}
          </div>
        </div>
      </Form>
    </section>
  );
}
