// Settings of the organisation.

import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { organisationQuery, useChangeOrganisation } from "../../api/organisation.js";
import type { Organisation } from "../../api/types.js";
import { Page } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { Card } from "../../parts/card.js";
import { CopyLine } from "../../parts/copy.js";
import { Field } from "../../parts/field.js";
import { Form } from "../../parts/form.js";
import { Outline } from "../../parts/outline.js";
import { FormProblem, LoadProblem, requestError } from "../../parts/problem.js";
import { Time } from "../../parts/time.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { settingsText } from "../../text/settings.js";

export default function SettingsPage() {
  const organisation = useQuery(organisationQuery);
  const error = requestError(organisation.error);
  return (
    <Page title={settingsText.title} lead={settingsText.lead}>
      {organisation.data ? (
        <div className="cards">
          <Details organisation={organisation.data} />
        </div>
      ) : error === null ? (
        <Outline />
      ) : (
        <LoadProblem error={error} onRetry={() => void organisation.refetch()} />
      )}
    </Page>
  );
}

function Details({ organisation }: { organisation: Organisation }) {
  const [typed, setTyped] = useState<string | null>(null);
  const name = typed ?? organisation.name;
  const change = useChangeOrganisation();
  const error = requestError(change.error);
  const onSuccess = () => {
    setTyped(null);
    showToast(settingsText.saved);
  };
  const submit = () => change.mutate({ name }, { onSuccess });
  return (
    <Card title={settingsText.organisation}>
      <div className="stack">
        <Form error={error} isBusy={change.isPending} onSubmit={submit}>
          <Field
            label={text.field.name}
            name="organisation"
            autoComplete="organization"
            required
            maxLength={80}
            hint={settingsText.nameHint}
            value={name}
            problem={error?.of("name") ?? null}
            onChange={(event) => setTyped(event.target.value)}
          />
          <FormProblem error={error} shown={["name"]} />
          <div>
            <Button type="submit" kind="primary" isBusy={change.isPending}>
              {text.save}
            </Button>
          </div>
        </Form>
        <hr />
        <dl className="facts">
          <div>
            <dt>{settingsText.id}</dt>
            <dd>
              <CopyLine value={organisation.id} what={settingsText.idName} />
            </dd>
          </div>
          <div>
            <dt>{settingsText.created}</dt>
            <dd>
              <Time at={organisation.createdAt} />
            </dd>
          </div>
        </dl>
      </div>
    </Card>
  );
}
