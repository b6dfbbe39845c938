// Rules of a playback ID as text: one entry a line.

import type { RequestError } from "../../api/client.js";
import type { AccessRestrictions, AccessRule } from "../../api/media-types.js";
import type { RuleKind } from "../../api/playback-ids.js";

export const KINDS: RuleKind[] = ["domains", "userAgents"];

export interface RuleDraft {
  defaultPolicy: AccessRule["defaultPolicy"];
  allow: string;
  deny: string;
}

export type RuleDrafts = Record<RuleKind, RuleDraft>;

const NO_RULE: RuleDraft = { defaultPolicy: "allow", allow: "", deny: "" };
export const NO_RULES: RuleDrafts = { domains: NO_RULE, userAgents: NO_RULE };

export function draftsOf({ domains, userAgents }: AccessRestrictions): RuleDrafts {
  return { domains: draftOf(domains), userAgents: draftOf(userAgents) };
}

function draftOf({ defaultPolicy, allow, deny }: AccessRule): RuleDraft {
  return { defaultPolicy, allow: allow.join("\n"), deny: deny.join("\n") };
}

export function restrictionsOf({ domains, userAgents }: RuleDrafts): AccessRestrictions {
  return { domains: ruleOf(domains), userAgents: ruleOf(userAgents) };
}

export function ruleOf({ defaultPolicy, allow, deny }: RuleDraft): AccessRule {
  return { defaultPolicy, allow: linesOf(allow), deny: linesOf(deny) };
}

export function isEmpty(drafts: RuleDrafts): boolean {
  return KINDS.every((kind) => isSameRule(ruleOf(drafts[kind]), ruleOf(NO_RULE)));
}

/** The rules that differ from the stored ones. */
export function changedKinds(drafts: RuleDrafts, stored: AccessRestrictions): RuleKind[] {
  return KINDS.filter((kind) => !isSameRule(ruleOf(drafts[kind]), stored[kind]));
}

function isSameRule(a: AccessRule, b: AccessRule): boolean {
  return JSON.stringify([a.defaultPolicy, a.allow, a.deny]) === JSON.stringify([b.defaultPolicy, b.allow, b.deny]);
}

/** Lines without the empty ones. */
function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The first message about a list, which may name one of its entries: `domains.allow[2]`. */
export function problemOfList(error: RequestError | null, list: string): string | null {
  return error?.fields.find(({ field }) => field === list || field.startsWith(`${list}[`))?.message ?? null;
}

/** The fields of an error that belong to rules. */
export function fieldsOfRules(error: RequestError | null, prefix: string): string[] {
  return error?.fields.map(({ field }) => field).filter((field) => KINDS.some((kind) => field.startsWith(`${prefix}${kind}.`))) ?? [];
}
