// A media: `/w/{workspaceId}/media/{mediaId}` and its tabs, each a file and a chunk of its own.

import { type ComponentType, lazy, Suspense, useState } from "react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Code, Download, Ellipsis } from "lucide-react";
import { Link, useLocation, useParams } from "wouter";
import type { Tagged } from "../../api/client.js";
import { type MediaRef, mediaQuery } from "../../api/media.js";
import { eventCount, eventsQuery, renditionsQuery } from "../../api/media-reports.js";
import { isUnfinished, type Media } from "../../api/media-types.js";
import { doorQuery, useSession } from "../../api/queries.js";
import type { Workspace } from "../../api/types.js";
import { Page } from "../../frame/page.js";
import { Copy } from "../../parts/copy.js";
import { Loading } from "../../parts/loading.js";
import { Menu } from "../../parts/menu.js";
import { Outline } from "../../parts/outline.js";
import { requestError } from "../../parts/problem.js";
import { Tabs } from "../../parts/tabs.js";
import { text } from "../../text/en.js";
import { mediaPageText as words } from "../../text/media-page.js";
import { mediaText } from "../../text/media.js";
import { Delete } from "./delete.js";
import { DetailsTab } from "./details.js";
import { addressOf, filesOf } from "./downloads.js";
import { StatePill } from "./state-pill.js";

/** What a tab gets. */
export interface TabProps {
  media: Media;
  /** Of the version that is shown. */
  etag: string | null;
  /** Whether this person may change the media, and its playback IDs. */
  mayChange: boolean;
  mayChangePlayback: boolean;
}

type Path = "" | "playback" | "tracks" | "renditions" | "events" | "code";

/** The events of a deleted media, and of an upload that made none: the finder leads here. */
const EventsOfMissing = lazy(async () => ({ default: (await import("./events.js")).EventsOfMissing }));

const tabs: { path: Path; name: string; tab: ComponentType<TabProps> }[] = [
  { path: "", name: words.tabs.overview, tab: DetailsTab },
  { path: "playback", name: words.tabs.playback, tab: lazy(() => import("./playback.js")) },
  { path: "tracks", name: words.tabs.tracks, tab: lazy(() => import("./tracks.js")) },
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
        {tab === "events" && (
          <Suspense fallback={<Outline lines={6} />}>
            <EventsOfMissing media={ref} />
          </Suspense>
        )}
      </Page>
    );
  }
  const loading = <Loading query={media} queryKey={mediaQuery(ref).queryKey} />;
  if (media.failureCount > 0) return <Page title={words.notLoaded}>{loading}</Page>;
  return (
    <>
      <h1 className="unseen">{text.product}</h1>
      {loading}
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
  const counts = useCounts(media);
  return (
    <Page
      title={mediaText.title(media)}
      beside={<StatePill media={media} />}
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
          <DownloadButton media={media} />
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
        tabs={tabs.map(({ path, name }) => ({
          name,
          href: path === "" ? base : `${base}/${path}`,
          count: counts[path],
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

/** The best file that viewers can download. Nothing if there is none. */
function DownloadButton({ media }: { media: Media }) {
  const { data: door } = useQuery(doorQuery);
  const [best] = media.status === "Ready" ? filesOf(media) : [];
  const address = best && door ? addressOf(media, door.publicUrl, best.file) : null;
  if (address === null) return null;
  return (
    <a className="button" href={address} download>
      <Download className="i" aria-hidden />
      {words.download}
    </a>
  );
}

/**
 * Entries of each tab. Renditions and events are read once for this, so that tabs do not move from tab
 * to tab; their own tabs read them again. Until they are known, their count is empty.
 */
function useCounts(media: Media): Partial<Record<Path, number | string>> {
  const once = { refetchInterval: false, refetchOnWindowFocus: false } as const;
  const renditions = useQuery({ ...renditionsQuery(media), ...once, enabled: !isUnfinished(media), staleTime: 0 }).data?.renditions;
  const events = useInfiniteQuery({ ...eventsQuery(media), ...once }).data?.pages;
  return {
    playback: media.playbackIds.length,
    tracks: media.tracks.length,
    renditions: renditions?.length ?? "",
    events: events === undefined ? "" : eventCount(events),
  };
}
