// The player, or why there is none.
//
// The player is the page `/embed/{playbackId}` in a frame, opened by a pass: no rule of the playback ID
// rejects it.

import { useEffect, useRef, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CloudDownload, Image } from "lucide-react";
import { passQuery, useChangeMedia } from "../../api/media.js";
import { isUnfinished, type Media } from "../../api/media-types.js";
import { useCreatePlaybackId } from "../../api/playback-ids.js";
import { Button } from "../../parts/button.js";
import { clock } from "../../parts/duration.js";
import { Loading } from "../../parts/loading.js";
import { MediaImage } from "../../parts/media-image.js";
import { MediaState } from "../../parts/media-state.js";
import { Outline } from "../../parts/outline.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { sentence, sentenceOf } from "../../text/en.js";
import { mediaPageText } from "../../text/media-page.js";
import { mediaText } from "../../text/media.js";
import { canRenew, videoOf } from "./frame.js";

const words = mediaPageText.player;
/** How often a player whose pass has ended is looked at. */
const LOOK_EVERY_MS = 5000;

interface Props {
  media: Media;
  mayChange: boolean;
  mayChangePlayback: boolean;
}

export function Player({ media, mayChange, mayChangePlayback }: Props) {
  return (
    <section className="stack tight" aria-label={words.section}>
      <Screen media={media} mayChange={mayChange} mayChangePlayback={mayChangePlayback} />
    </section>
  );
}

function Screen({ media, mayChange, mayChangePlayback }: Props) {
  if (media.status === "Failed") return <Failed media={media} />;
  if (isUnfinished(media)) {
    return (
      <div className="screen">
        <CloudDownload className="i" aria-hidden />
        <MediaState media={media} />
        <p className="small soft">{words.unfinished(media.status)}</p>
      </div>
    );
  }
  if (media.playbackIds.length === 0) return <NoPlaybackId media={media} mayCreate={mayChangePlayback} />;
  return <Frame media={media} mayChange={mayChange} />;
}

function Failed({ media: { error } }: { media: Media }) {
  return (
    <div className="screen failed" role="note">
      <CircleAlert className="i" aria-hidden />
      <h2>{words.failedTitle}</h2>
      {error && (
        <>
          <p>{sentence(error.message)}</p>
          <p className="small soft">{words.remedy(error.code)}</p>
          <p className="xs soft">{words.code(error.code)}</p>
        </>
      )}
    </div>
  );
}

function NoPlaybackId({ media, mayCreate }: { media: Media; mayCreate: boolean }) {
  const create = useCreatePlaybackId(media);
  return (
    <div className="screen">
      <p>{words.noPlaybackId}</p>
      {mayCreate && (
        <div className="row wrap">
          <Button kind="primary" isBusy={create.isPending} onClick={() => create.mutate({ accessPolicy: "public" })}>
            {words.createPlaybackId}
          </Button>
          <Button isBusy={create.isPending} onClick={() => create.mutate({ accessPolicy: "private" })}>
            {words.createPrivate}
          </Button>
        </div>
      )}
      <FormProblem error={requestError(create.error)} />
    </div>
  );
}

function Frame({ media, mayChange }: { media: Media; mayChange: boolean }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [isLoaded, setLoaded] = useState(false);
  const playbackIds = media.playbackIds.map(({ id }) => id).join();
  const pass = useQuery(passQuery(media, playbackIds));
  const { data, refetch } = pass;

  // A pass that has ended starts no playback, but does not stop one: the addresses of a running one are
  // signed. A fresh pass reloads the frame, so it waits until nothing would be lost.
  useEffect(() => {
    if (data === undefined) return undefined;
    const endsAt = Date.parse(data.expiresAt);
    const timer = setInterval(() => {
      if (Date.now() >= endsAt && !document.hidden && canRenew(frame.current)) void refetch();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [data, refetch]);

  if (data === undefined) {
    if (pass.failureCount === 0) {
      return (
        <div className="screen">
          <MediaImage media={media} width={960} />
          <Outline lines={1} />
        </div>
      );
    }
    return <Loading query={pass} queryKey={passQuery(media, playbackIds).queryKey} />;
  }
  return (
    <>
      <iframe
        ref={frame}
        key={data.token}
        className={media.isAudioOnly ? "player audio" : "player"}
        src={data.url}
        title={words.name(mediaText.title(media))}
        allow="autoplay; fullscreen; picture-in-picture"
        onLoad={() => setLoaded(true)}
      />
      {mayChange && !media.isAudioOnly && isLoaded && videoOf(frame.current) !== null && (
        <Thumbnail media={media} positionOf={() => videoOf(frame.current)?.currentTime ?? 0} />
      )}
    </>
  );
}

/** Makes the frame that the player shows the thumbnail. */
function Thumbnail({ media, positionOf }: { media: Media; positionOf: () => number }) {
  const change = useChangeMedia(media);
  const set = (thumbnail: { time: number } | null, message: string) =>
    change.mutate(
      { body: { thumbnail } },
      {
        onSuccess: () => showToast(message),
        onError: (error) => {
          const shown = requestError(error);
          if (shown !== null) showToast(sentenceOf(shown));
        },
      },
    );
  const setHere = () => {
    const time = Math.round(positionOf() * 1000) / 1000;
    set({ time }, words.thumbnailSet(clock(time)));
  };
  return (
    <div className="row wrap">
      <Button size="small" isBusy={change.isPending} onClick={setHere}>
        <Image className="i" aria-hidden />
        {words.setThumbnail}
      </Button>
      <span className="xs faint">
        {media.thumbnailTime === undefined ? words.thumbnailIsDefault : words.thumbnailIsAt(clock(media.thumbnailTime))}
      </span>
      {media.thumbnailTime !== undefined && (
        <Button kind="plain" size="small" isBusy={change.isPending} onClick={() => set(null, words.thumbnailReset)}>
          {words.resetThumbnail}
        </Button>
      )}
    </div>
  );
}
