// The sign-in page, and how the first account is made.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Redirect, useSearch } from "wouter";
import { doorQuery, sessionQuery } from "../../api/queries.js";
import type { Door } from "../../api/types.js";
import { Button } from "../../parts/button.js";
import { CopyBlock } from "../../parts/copy.js";
import { text } from "../../text/en.js";
import { DoorPage } from "../door-page.js";
import { SignInForm } from "./form.js";
import { nextPath } from "./next.js";

export function SignInPage() {
  const client = useQueryClient();
  const session = useQuery(sessionQuery);
  const door = useQuery(doorQuery);
  const search = useSearch();
  if (session.data) return <Redirect to={nextPath(new URLSearchParams(search).get("next"))} replace />;
  if (door.data && !door.data.hasPeople) return <FirstAccount />;
  const [before, command, after] = text.signIn.help(text.signIn.resetCommand);
  return (
    <DoorPage
      title={text.signIn.title}
      lead={({ organisation }: Door) => text.signIn.to(organisation.name, location.host)}
      below={
        <p className="help" id="help" tabIndex={-1}>
          {before}
          <code className="mono">{command}</code>
          {after}
        </p>
      }
    >
      {() => <SignInForm onSignedIn={(session) => client.setQueryData(sessionQuery.queryKey, session)} />}
    </DoorPage>
  );
}

/** While there is no account: the command that makes one. */
function FirstAccount() {
  const door = useQuery(doorQuery);
  return (
    <DoorPage title={text.signIn.noAccountTitle}>
      {({ createCommand }) => (
        <div className="stack">
          <p>{text.signIn.noAccount}</p>
          <CopyBlock value={createCommand} what={text.signIn.command} />
          <p className="small soft">{text.signIn.noAccountHint}</p>
          <Button size="wide" isBusy={door.isFetching} onClick={() => void door.refetch()}>
            {text.signIn.check}
          </Button>
        </div>
      )}
    </DoorPage>
  );
}
