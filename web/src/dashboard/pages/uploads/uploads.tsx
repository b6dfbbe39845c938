// Uploads: `/w/{workspaceId}/uploads`. The queue of this browser, and unfinished uploads of the workspace.

import { useQuery } from "@tanstack/react-query";
import { Upload } from "lucide-react";
import { doorQuery, useSession } from "../../api/queries.js";
import { createBody } from "../../api/uploads.js";
import type { Workspace } from "../../api/types.js";
import { Page } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { Card } from "../../parts/card.js";
import { CopyBlock } from "../../parts/copy.js";
import { uploadCommand } from "../start/commands.js";
import { uploadsText } from "../../text/uploads.js";
import { DropZone } from "../../upload-ui/drop-zone.js";
import { openUploadPicker } from "../../upload-ui/intake.js";
import { useSnapshot } from "../../upload-ui/use-queue.js";
import { Others } from "./others.js";
import { QueueList } from "./queue-list.js";

const words = uploadsText.page;

export default function UploadsPage({ workspace }: { workspace: Workspace }) {
  const { actions } = useSession();
  if (!actions.includes("media.change")) {
    return (
      <Page title={uploadsText.title} lead={words.viewer}>
        <Others workspace={workspace} maySend={false} mine={NONE} />
      </Page>
    );
  }
  return <Sendable workspace={workspace} />;
}

const NONE: ReadonlySet<string> = new Set();

function Sendable({ workspace }: { workspace: Workspace }) {
  const snapshot = useSnapshot();
  const items = snapshot.items.filter(({ workspaceId }) => workspaceId === workspace.id);
  const isEmpty = items.length === 0;
  const mine = new Set(items.map(({ uploadId }) => uploadId ?? ""));
  const upload = (
    <Button kind="primary" onClick={openUploadPicker}>
      <Upload className="i" aria-hidden />
      {uploadsText.upload}
    </Button>
  );
  return (
    <Page title={uploadsText.title} lead={words.lead} actions={isEmpty ? undefined : upload}>
      <div className="stack wide-gap">
        {isEmpty ? <DropZone /> : <QueueList items={items} snapshot={snapshot} />}
        <Others workspace={workspace} maySend mine={mine} />
        {isEmpty && <OtherWays workspace={workspace} />}
      </div>
    </Page>
  );
}

/** What is taken in, and how else files get here. */
function OtherWays({ workspace }: { workspace: Workspace }) {
  const door = useQuery(doorQuery);
  const baseUrl = `${door.data?.publicUrl ?? location.origin}/v1`;
  return (
    <div className="other-ways">
      <Card title={words.command} lead={words.takenIn}>
        <CopyBlock value={uploadCommand(workspace.name)} what={words.commandName} />
      </Card>
      <Card
        title={words.requestTitle}
        lead={
          <>
            {words.requestLead} <a href="/docs">{words.reference}</a>.
          </>
        }
      >
        <CopyBlock value={createCurl(baseUrl)} what={words.requestName} />
      </Card>
    </div>
  );
}

/** The request that the page sends for each file, by curl. */
function createCurl(baseUrl: string): string {
  const { corsOrigin, timeout, pushMediaSettings: settings } = createBody({ title: "A talk", accessPolicy: "public", maxResolution: "1080p", metadata: {} });
  const { metadata: _none, ...pushMediaSettings } = settings;
  const body = JSON.stringify({ corsOrigin, timeout, pushMediaSettings }, null, 2);
  return [
    "curl -u 'TOKEN_ID:SECRET' \\",
    `  ${baseUrl}/on-demand/upload \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${body.replaceAll("\n", "\n  ")}'`,
    "curl -T talk.mp4 'URL'  # the URL of the response",
  ].join("\n");
}
