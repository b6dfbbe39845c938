// Inputs of the rules for domains and user agents.

import type { RequestError } from "../../api/client.js";
import type { RuleKind } from "../../api/playback-ids.js";
import { Choice } from "../../parts/choice.js";
import { TextArea } from "../../parts/text-area.js";
import { rulesText as words } from "../../text/media-tabs.js";
import { KINDS, problemOfList, type RuleDraft, type RuleDrafts } from "./rule-draft.js";

interface Props {
  drafts: RuleDrafts;
  error: RequestError | null;
  /** Path of the rules in the fields of the error. */
  prefix: string;
  isReadOnly?: boolean;
  onChange: (drafts: RuleDrafts) => void;
}

/** The list that the default does not use stays as it is. */
export function RuleFields({ drafts, error, prefix, isReadOnly = false, onChange }: Props) {
  const set = (kind: RuleKind, part: Partial<RuleDraft>) => onChange({ ...drafts, [kind]: { ...drafts[kind], ...part } });
  return (
    <div className="pair even">
      {KINDS.map((kind) => {
        const draft = drafts[kind];
        const list = draft.defaultPolicy === "deny" ? "allow" : "deny";
        return (
          <div key={kind} className="stack tight">
            <fieldset className="bare" disabled={isReadOnly}>
              <Choice
                label={words.policy[kind]}
                names={words.policies}
                value={draft.defaultPolicy}
                onChange={(defaultPolicy) => set(kind, { defaultPolicy })}
              />
            </fieldset>
            <TextArea
              label={words.list[kind][list]}
              hint={words.hints[kind]}
              rows={3}
              spellCheck={false}
              autoCapitalize="none"
              readOnly={isReadOnly}
              value={draft[list]}
              problem={problemOfList(error, `${prefix}${kind}.${list}`)}
              onChange={(event) => set(kind, { [list]: event.target.value })}
            />
          </div>
        );
      })}
    </div>
  );
}
