// Access tokens: the list, the form of a new one, and the answer with its secret.

import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { accessTokensQuery } from "../../api/access-tokens.js";
import type { NewAccessToken } from "../../api/types.js";
import { focusHeading, Page } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Outline } from "../../parts/outline.js";
import { LoadProblem, requestError } from "../../parts/problem.js";
import { accessTokensText as text } from "../../text/access-tokens.js";
import { Create } from "./create.js";
import { Created } from "./created.js";
import { List } from "./list.js";

export default function AccessTokensPage() {
  const tokens = useQuery(accessTokensQuery);
  const error = requestError(tokens.error);
  const [isCreating, setCreating] = useState(false);
  // The secret exists here alone: it is gone with the page.
  const [created, setCreated] = useState<NewAccessToken | null>(null);
  const isPanelShown = isCreating || created !== null;
  const newButton = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      <Plus className="i" aria-hidden />
      {text.new}
    </Button>
  );
  const hasTokens = (tokens.data?.length ?? 0) > 0;
  return (
    <Page title={text.title} lead={text.lead} actions={!isPanelShown && hasTokens ? newButton : undefined}>
      {isCreating && (
        <Create
          onCreated={(token) => {
            setCreating(false);
            setCreated(token);
          }}
          onClose={() => {
            setCreating(false);
            focusHeading();
          }}
        />
      )}
      {created !== null && (
        <Created
          token={created}
          onClose={() => {
            setCreated(null);
            focusHeading();
          }}
        />
      )}
      {error !== null && tokens.data === undefined && <LoadProblem error={error} onRetry={() => void tokens.refetch()} />}
      {error === null && tokens.data === undefined && <Outline lines={6} />}
      {hasTokens && <List tokens={tokens.data ?? []} />}
      {tokens.data?.length === 0 && !isPanelShown && (
        <Empty icon={KeyRound} title={text.empty.title} actions={newButton}>
          {text.empty.text}
        </Empty>
      )}
    </Page>
  );
}
