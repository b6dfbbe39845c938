// A media: `/w/{workspaceId}/media/{mediaId}` and its tabs, each a file and a chunk of its own.

import { type ComponentType, lazy, Suspense, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Code, Ellipsis } from "lucide-react";
import { Link, useLocation, useParams } from "wouter";
import type { Tagged } from "../../api/client.js";
import { type MediaRef, mediaQuery } from "../../api/media.js";
import type { Media } from "../../api/media-types.js";
import { useSession } from "../../api/queries.js";
import type { Workspace } from "../../api/types.js";
import { Page } from "../../frame/page.js";
import { Copy } from "../../parts/copy.js";
import { Menu } from "../../parts/menu.js";
import { MediaState } from "../../parts/media-state.js";
import { Outline } from "../../parts/outline.js";
import { LoadProblem, requestError } from "../../parts/problem.js";
import { Tabs } from "../../parts/tabs.js";
import { text } from "../../text/en.js";
import { mediaPageText as words } from "../../text/media-page.js";
import { mediaText } from "../../text/media.js";
import { Delete } from "./delete.js";
import { DetailsTab } from "./details.js";

/** What a tab gets. */
export interface TabProps {
  media: Media;
  /** Of the version that is shown. */
  etag: string | null;
  /** Whether this person may change the media, and its playback IDs. */
  mayChange: boolean;
  mayChangePlayback: boolean;
}

const tabs: { path: string; name: string; countOf?: (media: Media) => number; tab: ComponentType<TabProps> }[] = [
  { path: "", name: words.tabs.details, tab: DetailsTab },
  { path: "playback", name: words.tabs.playback, countOf: ({ playbackIds }) => playbackIds.length, tab: lazy(() => import("./playback.js")) },
  { path: "tracks", name: words.tabs.tracks, countOf: ({ tracks }) => tracks.length, tab: lazy(() => import("./tracks.js")) },
  { path: "renditions", name: words.tabs.renditions, tab: lazy(() => import("./renditions.js")) },
  { path: "events", name: words.tabs.events, tab: lazy(() => import("./events.js")) },
  { path: "code", name: words.tabs.code, tab: lazy(() => import("./code.js")) },
];

export default function MediaPage({ workspace }: { workspace: Workspace }) {
  const { mediaId, tab = "" } = useParams<{ mediaId: string; tab?: string }>();
  const ref: MediaRef = { workspaceId: workspace.id, id: mediaId };
  const media = useQuery(mediaQuery(ref));
  const error = requestError(media.error);
  if (media.data !== undefined && error?.status !== 404) return <Loaded key={mediaId} {...media.data} tab={tab} />;
  if (error?.status === 404 || error?.status === 422) {
    return (
      <Page title={words.missing} lead={words.missingLead}>
        <Link className="button" href={`/w/${workspace.id}/library`}>
          {words.toLibrary}
        </Link>
      </Page>
    );
  }
  return (
    <>
      <h1 className="unseen">{text.product}</h1>
      {error === null ? <Outline lines={6} /> : <LoadProblem error={error} onRetry={() => void media.refetch()} />}
    </>
  );
}

function Loaded({ data: media, etag, tab }: Tagged<Media> & { tab: string }) {
  const { actions } = useSession();
  const [, navigate] = useLocation();
  const [isDeleting, setDeleting] = useState(false);
  const base = `/w/${media.workspaceId}/media/${media.id}`;
  const shown = tabs.find(({ path }) => path === tab) ?? tabs[0];
  const Tab = shown?.tab ?? DetailsTab;
  const mayChange = actions.includes("media.change");
  return (
    <Page
      title={mediaText.title(media)}
      beside={<MediaState media={media} />}
      lead={
        <span className="row tight">
          <span className="mono clip">{media.id}</span>
          <Copy className="tiny" value={media.id} what={words.id} />
        </span>
      }
      actions={
        <>
          <Link className="button" href={`${base}/code`}>
            <Code className="i" aria-hidden />
            {words.embed}
          </Link>
          {mayChange && (
            <Menu
              label={words.actions}
              className="button icon"
              button={
                <>
                  <Ellipsis className="i" aria-hidden />
                  <span className="unseen">{words.actions}</span>
                </>
              }
            >
              <button type="button" className="item danger" data-closes onClick={() => setDeleting(true)}>
                {words.remove.open}
              </button>
            </Menu>
          )}
        </>
      }
    >
      <Tabs
        label={words.tabs.label}
        tabs={tabs.map(({ path, name, countOf }) => ({
          name,
          href: path === "" ? base : `${base}/${path}`,
          count: countOf?.(media),
          isCurrent: path === shown?.path,
        }))}
      />
      <Suspense fallback={<Outline lines={6} />}>
        <Tab media={media} etag={etag} mayChange={mayChange} mayChangePlayback={actions.includes("playback.change")} />
      </Suspense>
      {isDeleting && (
        <Delete media={media} onDeleted={() => navigate(`/w/${media.workspaceId}/library`, { replace: true })} onClose={() => setDeleting(false)} />
      )}
    </Page>
  );
}
