// What is known about a media, as a list of facts.

import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { Pencil } from "lucide-react";
import { Link } from "wouter";
import { inputInfoQuery } from "../../api/media.js";
import type { Media } from "../../api/media-types.js";
import { doorQuery } from "../../api/queries.js";
import { Ago } from "../../parts/ago.js";
import { Button } from "../../parts/button.js";
import { Card } from "../../parts/card.js";
import { Duration } from "../../parts/duration.js";
import { mediaPageText } from "../../text/media-page.js";

const words = mediaPageText.facts;

interface Props {
  media: Media;
  /** Without it, the person may not change the media. */
  onEdit: (() => void) | undefined;
  /** Whether the form was open before: the focus returns to the button that opened it. */
  wasEdited: boolean;
}

export function Facts({ media, onEdit, wasEdited }: Props) {
  const entries = Object.entries(media.metadata);
  return (
    <Card
      title={words.title}
      actions={
        onEdit && (
          <Button size="small" autoFocus={wasEdited} onClick={onEdit}>
            <Pencil className="i" aria-hidden />
            {words.edit}
          </Button>
        )
      }
    >
      <dl className="facts">
        <Measured media={media} />
        <Origin media={media} />
        <Fact name={words.creator} value={media.creatorId && <bdi>{media.creatorId}</bdi>} />
        <Fact name={words.created} value={<Ago at={media.createdAt} />} />
        <Fact name={words.changed} value={media.updatedAt !== media.createdAt && <Ago at={media.updatedAt} />} />
      </dl>
      <h3>{words.metadata}</h3>
      {entries.length === 0 ? (
        <p className="small faint">{words.noMetadata}</p>
      ) : (
        <dl className="facts">
          {entries.map(([key, value]) => (
            <div key={key}>
              <dt className="mono">
                <bdi>{key}</bdi>
              </dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Card>
  );
}

/** What a ready media was measured to be. */
function Measured({ media }: { media: Media }) {
  if (media.status !== "Ready") return null;
  const video = media.tracks.find(({ type }) => type === "video");
  const size = video?.width !== undefined && video.height !== undefined ? words.size(video.width, video.height) : null;
  const rate = rateOf(media.frameRate);
  const isWatermarked = media.playbackReport?.notCopied?.some(({ reason }) => reason === "watermark") ?? false;
  const subtitles = media.tracks.filter(({ type }) => type === "subtitle").map(({ languageName }) => languageName);
  return (
    <>
      <Fact name={words.duration} value={<Duration value={media.duration} />} />
      <Fact
        name={words.video}
        value={media.isAudioOnly ? words.audioOnly : [size, rate && words.rate(rate), media.aspectRatio].filter(Boolean).join(", ")}
      />
      <Fact name={words.subtitles} value={subtitles.length > 0 && <bdi>{subtitles.join(", ")}</bdi>} />
      <Fact name={words.watermark} value={isWatermarked && words.hasWatermark} />
      <Loudness media={media} />
    </>
  );
}

function Loudness({ media: { playbackReport, loudness } }: { media: Media }) {
  const state = playbackReport?.optimizeAudio;
  if (state === undefined) return null;
  const measured = loudness?.tracks.flatMap((track) => {
    const { before, after } = (track ?? {}) as { before?: { integrated: number | null }; after?: { integrated: number | null } };
    if (before?.integrated == null || after?.integrated == null) return [];
    return [words.lufs(before.integrated.toFixed(1), after.integrated.toFixed(1))];
  });
  return <Fact name={words.loudness} value={[words.levelling[state], ...(measured ?? [])].join(", ")} />;
}

/** Where the file came from. */
function Origin({ media }: { media: Media }) {
  const { data } = useQuery({ ...inputInfoQuery(media), enabled: media.status === "Ready" });
  const { data: door } = useQuery(doorQuery);
  const url = data?.configuration.url ?? "";
  const isUpload = door !== undefined && url.startsWith(`${door.publicUrl}/upload/`);
  return (
    <>
      <Fact name={words.source} value={[data?.file.containerFormat?.toUpperCase(), isUpload && words.upload].filter(Boolean).join(", ")} />
      <Fact name={words.sourceUrl} value={!isUpload && !url.startsWith("fp_mediaId:") && url} />
      <Fact
        name={words.sourceMedia}
        value={
          media.sourceMediaId && (
            <Link className="link mono" href={`/w/${media.workspaceId}/media/${media.sourceMediaId}`}>
              {media.sourceMediaId}
            </Link>
          )
        }
      />
      <Fact name={words.maxResolution} value={media.maxResolution} />
      <Fact name={words.quality} value={media.mediaQuality !== "standard" && media.mediaQuality} />
    </>
  );
}

/** Nothing without a value. */
function Fact({ name, value }: { name: string; value: ReactNode }) {
  if (value === undefined || value === null || value === false || value === "") return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** "30000/1001" as "29.97". `-1` is a rate that varies. */
function rateOf(rate: string | undefined): string | null {
  if (rate === undefined || rate === "-1") return null;
  const [frames = 0, seconds = 1] = rate.split("/").map(Number);
  return (frames / seconds).toLocaleString("en-GB", { maximumFractionDigits: 2 });
}
