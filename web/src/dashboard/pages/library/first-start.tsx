// The library without media: the ways to fill the workspace.

import { useQuery } from "@tanstack/react-query";
import { BookOpen, Film, KeyRound } from "lucide-react";
import { Link } from "wouter";
import { doorQuery, useSession } from "../../api/queries.js";
import type { Workspace } from "../../api/types.js";
import { Card } from "../../parts/card.js";
import { CopyBlock, CopyLine } from "../../parts/copy.js";
import { Empty } from "../../parts/empty.js";
import { Outline } from "../../parts/outline.js";
import { LoadProblem, requestError } from "../../parts/problem.js";
import { text } from "../../text/en.js";
import { firstStartText } from "../../text/first-start.js";
import { libraryText } from "../../text/library.js";
import { DropZone } from "../../upload-ui/drop-zone.js";
import { createCurl, tokenCommand, uploadCommand } from "../start/commands.js";

export default function FirstStart({ workspace }: { workspace: Workspace }) {
  const { actions } = useSession();
  const mayChange = actions.includes("media.change");
  return (
    <div className="stack">
      {mayChange ? (
        <DropZone title={libraryText.noneTitle} isPrimary={false} />
      ) : (
        <Empty icon={Film} title={libraryText.noneTitle}>
          {libraryText.noneViewer}
        </Empty>
      )}
      {mayChange && <Ways workspace={workspace} />}
    </div>
  );
}

/** The same by the API and the command line. */
function Ways({ workspace }: { workspace: Workspace }) {
  const { actions } = useSession();
  const door = useQuery(doorQuery);
  const error = requestError(door.error);
  const mayManageTokens = actions.includes("accessTokens.manage");
  if (error !== null) return <LoadProblem error={error} onRetry={() => void door.refetch()} />;
  if (door.data === undefined) return <Outline />;
  const baseUrl = `${door.data.publicUrl}/v1`;
  return (
    <div className="cards">
      <Card title={firstStartText.uploadTitle} lead={firstStartText.upload}>
        <CopyBlock value={uploadCommand(workspace.name)} what={firstStartText.uploadCommand} />
      </Card>
      <Card title={firstStartText.curlTitle} lead={firstStartText.curl}>
        <CopyBlock value={createCurl(baseUrl)} what={firstStartText.request} />
      </Card>
      <Card
        title={firstStartText.tokenTitle}
        lead={mayManageTokens ? firstStartText.tokenByPage : firstStartText.token}
        actions={
          mayManageTokens && (
            <Link className="button" href="/organisation/access-tokens">
              <KeyRound className="i" aria-hidden />
              {text.nav.accessTokens}
            </Link>
          )
        }
      >
        <div className="stack">
          <CopyBlock value={tokenCommand(workspace.name)} what={firstStartText.tokenCommand} />
          <dl className="facts">
            <div>
              <dt>{firstStartText.workspaceId}</dt>
              <dd>
                <CopyLine value={workspace.id} what={firstStartText.workspaceId} />
              </dd>
            </div>
            <div>
              <dt>{firstStartText.baseUrl}</dt>
              <dd>
                <CopyLine value={baseUrl} what={firstStartText.baseUrl} />
              </dd>
            </div>
          </dl>
        </div>
      </Card>
      <p>
        <a className="button" href="/docs">
          <BookOpen className="i" aria-hidden />
          {firstStartText.reference}
        </a>
      </p>
    </div>
  );
}
