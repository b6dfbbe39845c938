// The workspaces of the organisation: create, rename, delete.

import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Layers, Plus } from "lucide-react";
import { workspacesQuery } from "../../api/workspaces.js";
import { focusHeading, Page } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Outline } from "../../parts/outline.js";
import { LoadProblem, requestError } from "../../parts/problem.js";
import { text } from "../../text/en.js";
import { workspacesText } from "../../text/workspaces.js";
import { CreatePanel } from "./create-panel.js";
import { WorkspacesTable } from "./workspaces-table.js";

export default function WorkspacesPage() {
  const workspaces = useQuery(workspacesQuery);
  const error = requestError(workspaces.error);
  const [isCreating, setCreating] = useState(false);
  const close = () => {
    setCreating(false);
    focusHeading();
  };
  return (
    <Page
      title={text.nav.workspaces}
      lead={workspacesText.lead}
      actions={
        !isCreating && (
          <Button kind="primary" onClick={() => setCreating(true)}>
            <Plus className="i" aria-hidden />
            {workspacesText.create.open}
          </Button>
        )
      }
    >
      {isCreating && <CreatePanel onClose={close} />}
      {workspaces.data ? (
        workspaces.data.length > 0 ? (
          <WorkspacesTable workspaces={workspaces.data} />
        ) : (
          <Empty icon={Layers} title={workspacesText.noneTitle}>
            {workspacesText.none}
          </Empty>
        )
      ) : error === null ? (
        <Outline lines={4} />
      ) : (
        <LoadProblem error={error} onRetry={() => void workspaces.refetch()} />
      )}
    </Page>
  );
}
