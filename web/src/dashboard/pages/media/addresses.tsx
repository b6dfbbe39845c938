// Addresses of the first playback ID, to copy.

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Media } from "../../api/media-types.js";
import { doorQuery } from "../../api/queries.js";
import { Card } from "../../parts/card.js";
import { CopyLine } from "../../parts/copy.js";
import { mediaPageText } from "../../text/media-page.js";
import { addressesOf } from "./requests.js";

const words = mediaPageText.addresses;

export function Addresses({ media }: { media: Media }) {
  const { data: door } = useQuery(doorQuery);
  const playbackId = media.playbackIds.find(({ accessPolicy }) => accessPolicy === "public") ?? media.playbackIds[0];
  if (!door || playbackId === undefined) return null;
  const isPrivate = playbackId.accessPolicy === "private";
  const addresses = addressesOf(door.publicUrl, playbackId.id, isPrivate);
  const lines = [
    { name: words.hls, value: addresses.hls },
    { name: words.player, value: addresses.page },
    ...(media.isAudioOnly ? [] : [{ name: words.thumbnail, value: addresses.thumbnail }]),
  ];
  return (
    <Card
      title={words.title}
      actions={
        <Link className="link xs strong" href={`/w/${media.workspaceId}/media/${media.id}/code`}>
          {words.all}
        </Link>
      }
    >
      <div className="stack tight">
        {lines.map(({ name, value }) => (
          <div key={name} className="field">
            <span className="xs faint strong">{name}</span>
            <CopyLine value={value} what={name} />
          </div>
        ))}
        {isPrivate && <p className="hint">{words.needsToken}</p>}
      </div>
    </Card>
  );
}
