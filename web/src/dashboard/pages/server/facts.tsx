// Versions, roles, database and storage.

import type { ReactNode } from "react";
import type { ServerState } from "../../api/types-organisation.js";
import { bytes } from "../../parts/bytes.js";
import { Card } from "../../parts/card.js";
import { Copy } from "../../parts/copy.js";
import { Tag } from "../../parts/state.js";
import { Time } from "../../parts/time.js";
import { serverText } from "../../text/server.js";

export function ServerFacts({ server: { version, startedAt, roles, engine } }: { server: ServerState }) {
  return (
    <Card title={serverText.facts}>
      <dl className="facts">
        <Fact name={serverText.version}>
          <span className="row">
            <span className="mono">{version}</span>
            <Copy value={version} what={serverText.version} />
          </span>
        </Fact>
        <Fact name={serverText.started}>
          <Time at={startedAt} />
        </Fact>
        <Fact name={serverText.roles}>
          <span className="row wrap">
            {roles.map((role) => (
              <Tag key={role}>{role}</Tag>
            ))}
          </span>
        </Fact>
        <Fact name={serverText.engine}>{engine === null ? serverText.unknown : `${engine.name} ${engine.version}`}</Fact>
      </dl>
    </Card>
  );
}

/** Free shares of the disk below which its bar warns, and is red. */
const NEARLY_FULL = 0.15;
const FULL = 0.05;

export function DataFacts({ server: { database, storage } }: { server: ServerState }) {
  const { freeBytes, totalBytes } = storage;
  return (
    <Card title={serverText.data}>
      <dl className="facts">
        <Fact name={serverText.database}>{serverText.databaseOf(database.kind, database.schema)}</Fact>
        <Fact name={serverText.storage}>{serverText.storageOf(storage.kind)}</Fact>
        {storage.kind === "folder" && (
          <Fact name={serverText.disk}>
            {freeBytes === null ? (
              serverText.noDisk
            ) : totalBytes === null || totalBytes === 0 ? (
              serverText.free(bytes(freeBytes))
            ) : (
              <Disk free={freeBytes} total={totalBytes} />
            )}
          </Fact>
        )}
      </dl>
    </Card>
  );
}

/** The bar repeats the figures beside it. */
function Disk({ free, total }: { free: number; total: number }) {
  const used = Math.max(0, total - free);
  const share = free / total;
  return (
    <div className="stack tight">
      <div className={share < FULL ? "meter bad" : share < NEARLY_FULL ? "meter warn" : "meter"} aria-hidden>
        <i style={{ inlineSize: `${Math.min(100, (used / total) * 100)}%` }} />
      </div>
      <span>
        {serverText.used(bytes(used), bytes(total))}, {serverText.free(bytes(free))}
      </span>
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
