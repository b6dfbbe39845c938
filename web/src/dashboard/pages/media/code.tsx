// Code that plays a media, for one of its playback IDs.

import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Code } from "lucide-react";
import { Link } from "wouter";
import type { Media } from "../../api/media-types.js";
import { doorQuery } from "../../api/queries.js";
import { Card } from "../../parts/card.js";
import { CopyBlock, CopyLine } from "../../parts/copy.js";
import { Empty } from "../../parts/empty.js";
import { Loading } from "../../parts/loading.js";
import { Select } from "../../parts/select.js";
import { codeText as words, playbackText } from "../../text/media-tabs.js";
import { mediaText } from "../../text/media.js";
import type { TabProps } from "./media.js";
import { addressesOf, curl } from "./requests.js";
import { hlsJs, iframe, signNode, signPython } from "./snippets.js";

export default function CodeTab({ media }: TabProps) {
  const door = useQuery(doorQuery);
  const [chosen, setChosen] = useState("");
  const playbackId = media.playbackIds.find(({ id }) => id === chosen) ?? media.playbackIds[0];
  if (playbackId === undefined) {
    return (
      <Empty
        icon={Code}
        title={words.none}
        actions={
          <Link className="button" href={`/w/${media.workspaceId}/media/${media.id}/playback`}>
            {words.create}
          </Link>
        }
      >
        {playbackText.emptyLead}
      </Empty>
    );
  }
  if (door.data === undefined) {
    return <Loading query={door} queryKey={doorQuery.queryKey} />;
  }
  return (
    <div className="cards wide">
      {media.playbackIds.length > 1 && (
        <div className="field-column">
          <Select
            label={words.playbackId}
            options={media.playbackIds.map(({ id, accessPolicy }) => ({ value: id, name: words.option(id, mediaText.policies[accessPolicy]) }))}
            value={playbackId.id}
            onChange={setChosen}
          />
        </div>
      )}
      <Snippets media={media} publicUrl={door.data.publicUrl} playbackId={playbackId.id} isPrivate={playbackId.accessPolicy === "private"} />
    </div>
  );
}

interface SnippetsProps {
  media: Media;
  publicUrl: string;
  playbackId: string;
  isPrivate: boolean;
}

function Snippets({ media, publicUrl, playbackId, isPrivate }: SnippetsProps) {
  const addresses = addressesOf(publicUrl, playbackId, isPrivate);
  const lines = [
    { name: words.hls, value: addresses.hls },
    { name: words.page, value: addresses.page },
    ...(media.isAudioOnly ? [] : [{ name: words.thumbnail, value: addresses.thumbnail }]),
    { name: words.oembed, value: addresses.oembed },
  ];
  return (
    <>
      {isPrivate && <p className="small soft">{words.privateNote}</p>}
      <Card title={words.addresses}>
        <div className="stack tight">
          {lines.map(({ name, value }) => (
            <div key={name} className="field">
              <span className="xs faint strong">{name}</span>
              <CopyLine value={value} what={name} />
            </div>
          ))}
        </div>
      </Card>
      <Card title={words.iframe} lead={words.iframeLead}>
        <CopyBlock value={iframe(addresses.page, mediaText.title(media), media.aspectRatio)} what={words.iframe} />
      </Card>
      <Card title={words.hlsjs} lead={words.hlsjsLead}>
        <CopyBlock value={hlsJs(addresses.hls)} what={words.hlsjs} />
      </Card>
      {isPrivate && (
        <Card title={words.sign} lead={words.signLead}>
          <div className="stack">
            <div className="field">
              <span className="xs faint strong">{words.node}</span>
              <CopyBlock value={signNode(playbackId)} what={words.node} />
            </div>
            <div className="field">
              <span className="xs faint strong">{words.python}</span>
              <CopyBlock value={signPython(playbackId)} what={words.python} />
            </div>
          </div>
        </Card>
      )}
      <Card title={words.api} lead={words.apiLead}>
        <CopyBlock value={curl(`${publicUrl}/v1/on-demand/${media.id}`)} what={words.api} />
      </Card>
    </>
  );
}
