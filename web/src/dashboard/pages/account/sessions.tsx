// The sessions of the person, each with a button that ends it.

import { useQuery } from "@tanstack/react-query";
import { Monitor } from "lucide-react";
import { sessionsQuery, useEndSessions } from "../../api/queries.js";
import type { SessionEntry } from "../../api/types.js";
import { Button } from "../../parts/button.js";
import { Card } from "../../parts/card.js";
import { Outline } from "../../parts/outline.js";
import { FormProblem, LoadProblem, requestError } from "../../parts/problem.js";
import { Time } from "../../parts/time.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { nameOfClient } from "./client-name.js";

export function Sessions() {
  const sessions = useQuery(sessionsQuery);
  const end = useEndSessions();
  const error = requestError(sessions.error);
  const hasOthers = sessions.data?.some(({ isCurrent }) => !isCurrent) ?? false;
  const endOne = ({ id }: SessionEntry) => end.mutate({ id }, { onSuccess: () => showToast(text.account.ended) });
  const endOthers = () => end.mutate("others", { onSuccess: () => showToast(text.account.othersEnded) });
  return (
    <Card
      title={text.account.sessions}
      lead={text.account.sessionsLead}
      actions={
        hasOthers && (
          <Button size="small" kind="danger" isBusy={end.isPending} onClick={endOthers}>
            {text.account.endOthers}
          </Button>
        )
      }
    >
      <FormProblem error={requestError(end.error)} />
      {sessions.data ? (
        <ul className="list">
          {sessions.data.map((session) => (
            <Entry key={session.id} session={session} isBusy={end.isPending} onEnd={() => endOne(session)} />
          ))}
        </ul>
      ) : error === null ? (
        <Outline />
      ) : (
        <LoadProblem error={error} onRetry={() => void sessions.refetch()} />
      )}
    </Card>
  );
}

function Entry({ session, isBusy, onEnd }: { session: SessionEntry; isBusy: boolean; onEnd: () => void }) {
  const { browser, system } = nameOfClient(session.client ?? "");
  const name = text.account.client(browser, system);
  return (
    <li>
      <span className="glyph">
        <Monitor className="i" aria-hidden />
      </span>
      <div className="words">
        <p className="strong" title={session.client ?? undefined}>
          {name}
        </p>
        <p className="xs faint">
          {text.account.from(session)}, {text.account.lastUsed} <Time at={session.seenAt} />, {text.account.signedIn}{" "}
          <Time at={session.createdAt} />
        </p>
      </div>
      {session.isCurrent ? (
        <span className="tag ok end">{text.account.current}</span>
      ) : (
        <Button size="small" className="end" aria-label={text.account.endOf(name)} isBusy={isBusy} onClick={onEnd}>
          {text.account.end}
        </Button>
      )}
    </li>
  );
}
