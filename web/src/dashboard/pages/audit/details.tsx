// All that an entry has: both times, ids, where it came from.

import type { ReactNode } from "react";
import type { AuditFilter } from "../../api/audit.js";
import type { AuditEntry } from "../../api/types-organisation.js";
import { Button } from "../../parts/button.js";
import { Copy } from "../../parts/copy.js";
import { full } from "../../parts/time.js";
import { auditText } from "../../text/audit.js";
import { withValue } from "./filter.js";

interface Props {
  entry: AuditEntry;
  filter: AuditFilter;
  onFilter: (filter: AuditFilter) => void;
}

export function Details({ entry, filter, onFilter }: Props) {
  const words = auditText.details;
  const { actor, object, workspace } = entry;
  const at = new Date(entry.at);
  const actorValue = actor.id ?? actor.kind;
  return (
    <div className="body stack">
      <dl className="facts">
        <Fact name={words.local}>{full(at, "local")}</Fact>
        <Fact name={words.utc}>{full(at, "utc")}</Fact>
        <Fact name={words.action}>
          <span className="mono">{entry.action}</span>
        </Fact>
        {Object.entries(entry.details).map(([name, value]) => (
          <Fact key={name} name={words.of(name)}>
            <bdi>{auditText.value(entry.action, name, String(value))}</bdi>
          </Fact>
        ))}
        {actor.id !== null && <IdFact name={words.actor} id={actor.id} />}
        <IdFact name={words.object} id={object.id} />
        {workspace !== null && (
          <Fact name={words.workspace}>
            <bdi>{workspace.name}</bdi> <span className="mono faint">{workspace.id}</span>
          </Fact>
        )}
        {entry.address !== null && <Fact name={words.address}>{entry.address}</Fact>}
        {entry.requestId !== null && <IdFact name={words.request} id={entry.requestId} />}
      </dl>
      <div className="row wrap">
        {filter.actor !== actorValue && (
          <Button size="small" onClick={() => onFilter(withValue(filter, "actor", actorValue))}>
            {words.onlyActor}
          </Button>
        )}
        {filter.object !== object.id && (
          <Button size="small" onClick={() => onFilter(withValue(filter, "object", object.id))}>
            {words.onlyObject}
          </Button>
        )}
      </div>
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function IdFact({ name, id }: { name: string; id: string }) {
  return (
    <Fact name={name}>
      <span className="row">
        <span className="mono clip">{id}</span>
        <Copy value={id} what={name} />
      </span>
    </Fact>
  );
}
