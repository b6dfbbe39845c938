// An entry as a sentence. Each name is isolated, so that right-to-left text changes nothing beside it.

import type { AuditEntry } from "../../api/types-organisation.js";
import { auditText } from "../../text/audit.js";

/** The places of a template. */
const PLACES = /\{(\w+)\}/;

export function Sentence({ entry }: { entry: AuditEntry }) {
  // `split` puts the names of places between the texts, at odd indexes.
  return auditText
    .sentence(entry.action)
    .split(PLACES)
    .map((part, index) => {
      if (index % 2 === 0) return part;
      const isName = part === "actor" || part === "object";
      return (
        <bdi key={part} className={isName ? "strong" : undefined}>
          {valueOf(entry, part)}
        </bdi>
      );
    });
}

function valueOf(entry: AuditEntry, place: string): string {
  if (place === "actor") return actorOf(entry);
  if (place === "object") return entry.object.name || shortId(entry.object.id);
  if (place === "action") return entry.action;
  return auditText.value(entry.action, place, String(entry.details[place] ?? ""));
}

function actorOf({ actor: { kind, id, name } }: AuditEntry): string {
  const names = auditText.actor;
  switch (kind) {
    case "person":
      return name || shortId(id) || names.person;
    case "access_token":
      return names.access_token(name || shortId(id));
    default:
      return Object.hasOwn(names, kind) ? names[kind] : kind;
  }
}

/** The beginning of an ID, which the details have in full. */
function shortId(id: string | null): string {
  return id === null ? "" : id.length > 16 ? `${id.slice(0, 13)}…` : id;
}
