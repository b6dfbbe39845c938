// The first tab: the player, and what is known about the media.

import { lazy, Suspense, useRef, useState } from "react";
import { Outline } from "../../parts/outline.js";
import { Addresses } from "./addresses.js";
import { Clips } from "./clips.js";
import { EditDetails } from "./edit-details.js";
import { Facts } from "./facts.js";
import { Files } from "./files.js";
import type { TabProps } from "./media.js";
import { Player } from "./player.js";
import { LatestEvents, PlaybackSummary } from "./summaries.js";

const HowItPlays = lazy(() => import("./renditions.js").then(({ Renditions }) => ({ default: Renditions })));

export function DetailsTab({ media, etag, mayChange, mayChangePlayback }: TabProps) {
  const [isEdited, setEdited] = useState(false);
  const wasEdited = useRef(false);
  const edit = () => {
    wasEdited.current = true;
    setEdited(true);
  };
  const isReady = media.status === "Ready";
  return (
    <div className="split">
      <div className="stack">
        <Player media={media} mayChange={mayChange} mayChangePlayback={mayChangePlayback} />
        {media.playbackIds.length > 0 && <PlaybackSummary media={media} />}
        {isReady && (
          <Suspense fallback={<Outline lines={4} />}>
            <HowItPlays media={media} />
          </Suspense>
        )}
        {media.status !== "Failed" && <Files media={media} mayChange={mayChange} />}
        {isReady && !media.isAudioOnly && <Clips media={media} mayChange={mayChange} />}
      </div>
      <div className="stack">
        {isEdited ? (
          <EditDetails media={media} etag={etag} onClose={() => setEdited(false)} />
        ) : (
          <Facts media={media} onEdit={mayChange ? edit : undefined} wasEdited={wasEdited.current} />
        )}
        {media.playbackIds.length > 0 && <Addresses media={media} />}
        <LatestEvents media={media} />
      </div>
    </div>
  );
}
