// The renditions of a media: copied or encoded, how much is encoded, and why it is not all a copy.

import { useQuery } from "@tanstack/react-query";
import { CircleAlert, Info, Layers } from "lucide-react";
import { type Rendition, renditionsQuery } from "../../api/media-reports.js";
import type { Media, PlaybackReport } from "../../api/media-types.js";
import { Ago } from "../../parts/ago.js";
import { bytes } from "../../parts/bytes.js";
import { Card } from "../../parts/card.js";
import { Empty } from "../../parts/empty.js";
import { Loading } from "../../parts/loading.js";
import { Tag } from "../../parts/state.js";
import { type Column, Table } from "../../parts/table.js";
import { renditionsText as words } from "../../text/media-tabs.js";
import { organisationText } from "../../text/organisation.js";
import type { TabProps } from "./media.js";

export default function RenditionsTab({ media }: TabProps) {
  return (
    <div className="cards wide">
      <Renditions media={media} hasSize />
    </div>
  );
}

/** Beside other cards there is no column of sizes. */
export function Renditions({ media, hasSize = false }: { media: Media; hasSize?: boolean }) {
  const renditions = useQuery(renditionsQuery(media));
  if (renditions.data === undefined) {
    return <Loading query={renditions} queryKey={renditionsQuery(media).queryKey} />;
  }
  const { playbackReport, renditions: rows } = renditions.data;
  if (rows.length === 0) {
    return (
      <Empty icon={Layers} title={words.title}>
        {words.notReady}
      </Empty>
    );
  }
  const offered = rows.filter(({ type }) => type !== "download");
  const copied = offered.filter(({ method }) => method === "copied").length;
  return (
    <>
      <section className="card" aria-label={words.title}>
        <header>
          <h2>{words.title}</h2>
          <span className="xs faint">{words.summary(copied, offered.length - copied)}</span>
        </header>
        <Table label={words.title} columns={columnsOf(media, hasSize)} rows={rows} keyOf={({ type, method, name }) => `${type} ${method} ${name}`} />
      </section>
      {playbackReport !== null && <Why report={playbackReport} />}
    </>
  );
}

function columnsOf(media: Media, hasSize: boolean): Column<Rendition>[] {
  const { columns } = words;
  const size: Column<Rendition> = {
    name: columns.size,
    isWideOnly: true,
    isNumber: true,
    cell: (rendition) => (rendition.bytes === null ? <span className="faint">–</span> : bytes(rendition.bytes)),
  };
  return [
    {
      name: columns.rendition,
      isMain: true,
      cell: (rendition) => {
        const [name, ...facts] = namesOf(rendition, media);
        return (
          <>
            <bdi className="strong">{name}</bdi> <bdi className="xs faint">{facts.join(", ")}</bdi>
          </>
        );
      },
    },
    {
      name: columns.how,
      cell: ({ method, isBroken }) =>
        isBroken ? <Tag tone="bad">{words.broken}</Tag> : <Tag tone={method === "copied" ? "ok" : "plain"}>{words.methods[method]}</Tag>,
    },
    { name: columns.made, isNumber: true, cell: (rendition) => <Made rendition={rendition} /> },
    ...(hasSize ? [size] : []),
    {
      name: columns.watched,
      isAtEnd: true,
      isNumber: true,
      cell: ({ lastWatchedAt, method }) => {
        if (lastWatchedAt !== null) return <Ago at={lastWatchedAt} />;
        return <span className="faint">{method === "copied" ? "–" : organisationText.never.toLowerCase()}</span>;
      },
    },
  ];
}

/** What a rendition is called, and what else is known of it: "1080p", "Video", or "Audio", "English". */
function namesOf({ name, type, resolution }: Rendition, { tracks, playbackReport }: Media): string[] {
  const offered = playbackReport?.renditions.find((rendition) => rendition.name === name);
  const track = tracks.find(({ id }) => id === offered?.trackId);
  const language = track === undefined || track.languageCode === "und" ? undefined : track.languageName;
  const kind = words.types[type];
  const names = resolution === null ? [kind, language] : [resolution, kind];
  // The name of a copied track is "video" or "audio"; that of an encoded one begins with its resolution.
  const isSaid = [kind, resolution].some((said) => said?.toLowerCase() === name.toLowerCase());
  return [...names, isSaid ? undefined : name].filter((part) => part !== undefined);
}

function Made({ rendition: { name, method, segmentsMade, segments } }: { rendition: Rendition }) {
  if (method === "copied") return <span className="faint">{words.sourceItself}</span>;
  if (segmentsMade === null) return <span className="faint">–</span>;
  return (
    <span className="row">
      {segments !== null && (
        <span
          className="bar"
          role="progressbar"
          aria-label={words.madeOf(name)}
          aria-valuemin={0}
          aria-valuemax={segments}
          aria-valuenow={segmentsMade}
        >
          <i style={{ width: `${segments === 0 ? 0 : (100 * segmentsMade) / segments}%` }} />
        </span>
      )}
      <span className="xs faint">{words.made(segmentsMade, segments)}</span>
    </span>
  );
}

function Why({ report: { notCopied = [], leftOut = [], broken = [], copy, source } }: { report: PlaybackReport }) {
  const defects = [
    ...(source === "truncated" ? [words.truncated] : []),
    ...(copy === "does_not_decode" ? [words.doesNotDecode] : []),
    ...leftOut.map(({ type, detail }) => words.leftOut(type, detail)),
    ...(broken.length > 0 ? [words.brokenNames(broken)] : []),
  ];
  return (
    <>
      {defects.length > 0 && (
        <div className="note">
          <CircleAlert className="i" aria-hidden />
          <div className="stack tight">
            {defects.map((defect) => (
              <p key={defect}>{defect}</p>
            ))}
          </div>
        </div>
      )}
      {notCopied.length === 0 ? (
        defects.length === 0 && (
          <div className="note info">
            <Info className="i" aria-hidden />
            <p>{words.allCopied}</p>
          </div>
        )
      ) : (
        <Card title={words.whyTitle}>
          <ul className="stack">
            {notCopied.map(({ type, trackId, reason, detail }) => {
              const { what, cause, instead } = words.why(type, reason, detail);
              return (
                <li key={`${trackId} ${reason}`} className="small">
                  <p className="strong">{what}</p>
                  <p className="soft">
                    {cause} {instead}
                  </p>
                </li>
              );
            })}
          </ul>
        </Card>
      )}
    </>
  );
}
