// The overview of a workspace: what it is, and how media get into it.

import { useQuery } from "@tanstack/react-query";
import { BookOpen, KeyRound } from "lucide-react";
import { Link } from "wouter";
import { doorQuery, hasMediaQuery, useSession } from "../../api/queries.js";
import type { Workspace } from "../../api/types.js";
import { Page } from "../../frame/page.js";
import { Card } from "../../parts/card.js";
import { CopyBlock, CopyLine } from "../../parts/copy.js";
import { Outline } from "../../parts/outline.js";
import { LoadProblem, requestError } from "../../parts/problem.js";
import { text } from "../../text/en.js";
import { createCurl, tokenCommand, uploadCommand } from "./commands.js";

export default function HomePage({ workspace }: { workspace: Workspace }) {
  const { actions } = useSession();
  const door = useQuery(doorQuery);
  const hasMedia = useQuery(hasMediaQuery(workspace.id));
  const error = requestError(door.error ?? hasMedia.error);
  const mayManageTokens = actions.includes("accessTokens.manage");
  const mayChange = actions.includes("media.change");
  const retry = () => {
    if (door.isError) void door.refetch();
    if (hasMedia.isError) void hasMedia.refetch();
  };
  const lead = () => {
    if (!mayChange) return text.home.viewer;
    if (hasMedia.data === undefined) return undefined;
    return hasMedia.data ? text.home.someMedia : text.home.noMedia;
  };
  return (
    <Page title={workspace.name} lead={lead()}>
      {error !== null && <LoadProblem error={error} onRetry={retry} />}
      {error === null && door.data === undefined && <Outline />}
      {door.data && <Ways workspace={workspace} baseUrl={`${door.data.publicUrl}/v1`} mayChange={mayChange} mayManageTokens={mayManageTokens} />}
    </Page>
  );
}

interface WaysProps {
  workspace: Workspace;
  baseUrl: string;
  mayChange: boolean;
  mayManageTokens: boolean;
}

function Ways({ workspace, baseUrl, mayChange, mayManageTokens }: WaysProps) {
  return (
    <div className="cards">
      <Card title={text.home.factsTitle}>
        <dl className="facts">
          <div>
            <dt>{text.home.workspaceId}</dt>
            <dd>
              <CopyLine value={workspace.id} what={text.home.workspaceId} />
            </dd>
          </div>
          <div>
            <dt>{text.home.baseUrl}</dt>
            <dd>
              <CopyLine value={baseUrl} what={text.home.baseUrl} />
            </dd>
          </div>
        </dl>
      </Card>
      {mayChange && (
        <>
          <Card title={text.home.uploadTitle} lead={text.home.upload}>
            <CopyBlock value={uploadCommand(workspace.name)} what={text.home.uploadCommand} />
          </Card>
          <Card
            title={text.home.tokenTitle}
            lead={mayManageTokens ? text.home.tokenByPage : text.home.token}
            actions={
              mayManageTokens && (
                <Link className="button" href="/organisation/access-tokens">
                  <KeyRound className="i" aria-hidden />
                  {text.nav.accessTokens}
                </Link>
              )
            }
          >
            <CopyBlock value={tokenCommand(workspace.name)} what={text.home.tokenCommand} />
          </Card>
          <Card title={text.home.curlTitle} lead={text.home.curl}>
            <CopyBlock value={createCurl(baseUrl)} what={text.home.request} />
          </Card>
        </>
      )}
      <p>
        <a className="button" href="/docs">
          <BookOpen className="i" aria-hidden />
          {text.home.reference}
        </a>
      </p>
    </div>
  );
}
