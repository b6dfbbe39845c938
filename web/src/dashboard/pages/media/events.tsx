// The events of a media, newest first, each with its deliveries to webhooks.

import { useState } from "react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Activity, ChevronRight } from "lucide-react";
import type { MediaRef } from "../../api/media.js";
import { type Delivery, type MediaEvent, eventsQuery } from "../../api/media-reports.js";
import { Ago } from "../../parts/ago.js";
import { Button } from "../../parts/button.js";
import { CopyBlock } from "../../parts/copy.js";
import { Empty } from "../../parts/empty.js";
import { Loading } from "../../parts/loading.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { State, type Tone } from "../../parts/state.js";
import { Time } from "../../parts/time.js";
import { sentence } from "../../text/en.js";
import { eventsText as words } from "../../text/media-tabs.js";
import type { TabProps } from "./media.js";

/** The events that outlive their media; nothing if there never was one. */
export function EventsOfMissing({ media }: { media: MediaRef }) {
  const log = useInfiniteQuery(eventsQuery(media));
  if (requestError(log.error)?.status === 404) return null;
  return (
    <section className="stack" aria-labelledby="events-of-missing">
      <h2 id="events-of-missing">{words.title}</h2>
      <EventsTab media={media} />
    </section>
  );
}

const TONES: Record<Delivery["state"], Tone> = { waiting: "plain", retrying: "warn", delivered: "ok", failed: "bad" };

export default function EventsTab({ media }: Pick<TabProps, "media"> | { media: MediaRef }) {
  const log = useInfiniteQuery(eventsQuery(media));
  const error = requestError(log.error);
  const events = log.data?.pages.flatMap((page) => page.events);
  // Newer events than this one wait behind a button: they would move those that are read.
  const [newestShown, setNewestShown] = useState<string | null>(null);
  if (events === undefined) {
    return <Loading query={log} queryKey={eventsQuery(media).queryKey} />;
  }
  const newest = events[0]?.id ?? null;
  if (newestShown === null && newest !== null) setNewestShown(newest);
  const hidden = Math.max(0, events.findIndex(({ id }) => id === newestShown));
  const shown = events.slice(hidden);
  if (events.length === 0) {
    return (
      <Empty icon={Activity} title={words.none}>
        {words.noneLead}
      </Empty>
    );
  }
  return (
    <div className="cards wide">
      {hidden > 0 && (
        <div className="row">
          <Button size="small" onClick={() => setNewestShown(newest)}>
            {words.new(hidden)}
          </Button>
        </div>
      )}
      <ol className="card entries timeline" aria-label={words.title}>
        {shown.map((event) => (
          <Event key={event.id} event={event} />
        ))}
      </ol>
      <div className="more">
        <FormProblem error={error} />
        {log.hasNextPage && (
          <Button isBusy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            {words.more}
          </Button>
        )}
      </div>
    </div>
  );
}

function Event({ event: { type, at, data, deliveries } }: { event: MediaEvent }) {
  const done = deliveries.filter(({ state }) => state === "delivered").length;
  return (
    <li>
      <details>
        <summary>
          <ChevronRight className="i faint" aria-hidden />
          <span className="words">
            <span className="strong">{type}</span>
            <span className="row wrap">
              {deliveries.length === 0 ? (
                <span className="xs faint">{words.noDeliveries}</span>
              ) : (
                <State tone={toneOf(deliveries)}>{words.delivered(done, deliveries.length)}</State>
              )}
            </span>
          </span>
          <span className="at small faint">
            <Time at={at} />
          </span>
        </summary>
        <div className="body stack">
          {deliveries.length > 0 && (
            <ul className="list">
              {deliveries.map((delivery) => (
                <DeliveryLine key={delivery.id} delivery={delivery} />
              ))}
            </ul>
          )}
          {data === null ? <p className="small soft">{words.noBody}</p> : <CopyBlock value={JSON.stringify(data, null, 2)} what={words.body} />}
        </div>
      </details>
    </li>
  );
}

function DeliveryLine({ delivery }: { delivery: Delivery }) {
  const { webhook, state, attempts, lastStatus, lastError, lastAttemptAt, nextAttemptAt } = delivery;
  const isOpen = state === "waiting" || state === "retrying";
  return (
    <li>
      <div className="words grow">
        <div className="mono clip" title={webhook?.url}>
          {webhook?.url ?? words.deletedWebhook}
        </div>
        <div className="xs faint">
          {[words.attempts(attempts), ...(lastStatus === null ? [] : [words.status(lastStatus)])].join(" · ")}
          {lastAttemptAt !== null && (
            <>
              {` · ${words.last} `}
              <Ago at={lastAttemptAt} />
            </>
          )}
          {isOpen && nextAttemptAt !== null && (
            <>
              {` · ${words.next} `}
              <Time at={nextAttemptAt} />
            </>
          )}
          {isOpen && nextAttemptAt === null && ` · ${words.disabled}`}
        </div>
        {lastError !== null && <p className="xs soft">{sentence(lastError)}</p>}
      </div>
      <span className="end">
        <State tone={TONES[state]}>{words.states[state]}</State>
      </span>
    </li>
  );
}

/** The worst of its deliveries. */
function toneOf(deliveries: Delivery[]): Tone {
  const order: Delivery["state"][] = ["failed", "retrying", "waiting", "delivered"];
  const worst = order.find((state) => deliveries.some((delivery) => delivery.state === state));
  return worst === undefined ? "plain" : TONES[worst];
}
