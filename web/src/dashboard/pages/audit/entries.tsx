// Entries as sentences, each with its details folded.

import { ChevronRight } from "lucide-react";
import type { AuditFilter } from "../../api/audit.js";
import type { AuditEntry } from "../../api/types-organisation.js";
import { Time } from "../../parts/time.js";
import { auditText } from "../../text/audit.js";
import { Details } from "./details.js";
import { Sentence } from "./sentence.js";

interface Props {
  entries: AuditEntry[];
  filter: AuditFilter;
  onFilter: (filter: AuditFilter) => void;
}

export function Entries({ entries, filter, onFilter }: Props) {
  return (
    <ol className="card entries" aria-label={auditText.list}>
      {entries.map((entry) => (
        <li key={entry.id}>
          <details>
            <summary>
              <ChevronRight className="i faint" aria-hidden />
              <span className="words">
                <Sentence entry={entry} />
              </span>
              <span className="at small faint">
                {entry.workspace?.name && (
                  <>
                    <bdi>{entry.workspace.name}</bdi>{" · "}
                  </>
                )}
                <Time at={entry.at} />
              </span>
            </summary>
            <Details entry={entry} filter={filter} onFilter={onFilter} />
          </details>
        </li>
      ))}
    </ol>
  );
}
