// Short forms of two tabs for the first one.

import { useInfiniteQuery } from "@tanstack/react-query";
import { Globe, Lock } from "lucide-react";
import { Link } from "wouter";
import { eventCount, eventsQuery } from "../../api/media-reports.js";
import { hasRules, type Media } from "../../api/media-types.js";
import { Card } from "../../parts/card.js";
import { Copy } from "../../parts/copy.js";
import { Tag } from "../../parts/state.js";
import { Time } from "../../parts/time.js";
import { mediaPageText } from "../../text/media-page.js";
import { mediaText } from "../../text/media.js";

const words = mediaPageText.summaries;
/** Events and playback IDs that are shown. */
const EVENTS_MAX = 3;
const PLAYBACK_IDS_MAX = 5;

export function PlaybackSummary({ media }: { media: Media }) {
  const href = `/w/${media.workspaceId}/media/${media.id}/playback`;
  return (
    <Card
      title={mediaPageText.tabs.playback}
      actions={
        <Link className="button small" href={href}>
          {words.rules}
        </Link>
      }
    >
      <ul className="list">
        {media.playbackIds.slice(0, PLAYBACK_IDS_MAX).map((playbackId) => {
          const { id, accessPolicy, encryption } = playbackId;
          const Icon = accessPolicy === "private" ? Lock : Globe;
          return (
            <li key={id}>
              <span className="glyph">
                <Icon className="i" aria-hidden />
              </span>
              <div className="words grow">
                <div className="row wrap">
                  <span className="strong small">{mediaText.policies[accessPolicy]}</span>
                  {encryption !== undefined && <Tag>{words.encrypted}</Tag>}
                  {hasRules(playbackId) && <Tag>{words.hasRules}</Tag>}
                </div>
                <div className="mono faint clip">{id}</div>
              </div>
              <Copy value={id} what={words.id(id)} />
            </li>
          );
        })}
      </ul>
      {media.playbackIds.length > PLAYBACK_IDS_MAX && (
        <Link className="link xs strong" href={href}>
          {words.all(media.playbackIds.length)}
        </Link>
      )}
    </Card>
  );
}

/** Nothing while there is no event, or if they cannot be loaded: their tab says why. */
export function LatestEvents({ media }: { media: Media }) {
  const { data } = useInfiniteQuery(eventsQuery(media));
  const events = data?.pages[0]?.events.slice(0, EVENTS_MAX) ?? [];
  if (events.length === 0) return null;
  return (
    <Card
      title={mediaPageText.tabs.events}
      actions={
        <Link className="link xs strong" href={`/w/${media.workspaceId}/media/${media.id}/events`}>
          {words.allEvents(eventCount(data?.pages ?? []))}
        </Link>
      }
    >
      <ol className="times">
        {events.map(({ id, type, at, deliveries }) => {
          const done = deliveries.filter(({ state }) => state === "delivered").length;
          const isTried = deliveries.some(({ state }) => state === "retrying" || state === "failed");
          return (
            <li key={id} className={isTried ? "bad" : done === deliveries.length && done > 0 ? "ok" : undefined}>
              <div className="strong">{type}</div>
              <div className="xs faint">
                <Time at={at} />
                {deliveries.length > 0 && ` · ${words.delivered(done, deliveries.length)}`}
              </div>
            </li>
          );
        })}
      </ol>
    </Card>
  );
}
