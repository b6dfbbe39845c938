// The state of the server: checks with what to do, versions, storage.

import { useQuery } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { serverQuery } from "../../api/server.js";
import { Page } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { Outline } from "../../parts/outline.js";
import { FormProblem, LoadProblem, requestError } from "../../parts/problem.js";
import { Time } from "../../parts/time.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { serverText } from "../../text/server.js";
import { Checks } from "./checks.js";
import { DataFacts, ServerFacts } from "./facts.js";

export default function ServerPage() {
  const server = useQuery(serverQuery);
  const error = requestError(server.error);
  const askAgain = async () => {
    const { isSuccess } = await server.refetch();
    if (isSuccess) showToast(serverText.upToDate);
  };
  return (
    <Page
      title={text.nav.server}
      lead={serverText.lead}
      actions={
        <Button isBusy={server.isFetching} onClick={() => void askAgain()}>
          <RefreshCw className="i" aria-hidden />
          {serverText.askAgain}
        </Button>
      }
    >
      {server.data ? (
        <div className="cards">
          {error !== null && <FormProblem error={error} />}
          <Checks checks={server.data.checks} />
          <ServerFacts server={server.data} />
          <DataFacts server={server.data} />
          <p className="xs faint">
            {serverText.asked} <Time at={new Date(server.dataUpdatedAt).toISOString()} />
          </p>
        </div>
      ) : error === null ? (
        <Outline lines={6} />
      ) : (
        <LoadProblem error={error} onRetry={() => void server.refetch()} />
      )}
    </Page>
  );
}
