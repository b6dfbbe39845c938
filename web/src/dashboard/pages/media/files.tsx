// Files that viewers can download: the source, and single files of video and audio.

import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useChangeMp4Support, useChangeSourceAccess } from "../../api/media.js";
import type { Media, Mp4Support } from "../../api/media-types.js";
import { doorQuery } from "../../api/queries.js";
import { Card } from "../../parts/card.js";
import { Choice } from "../../parts/choice.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { Select } from "../../parts/select.js";
import { showToast } from "../../parts/toast.js";
import { mediaPageText } from "../../text/media-page.js";
import { addressOf, filesOf } from "./downloads.js";

const words = mediaPageText.files;
const SUPPORTS: Mp4Support[] = ["none", "capped_4k", "audioOnly", "audioOnly,capped_4k"];

export function Files({ media, mayChange }: { media: Media; mayChange: boolean }) {
  const source = useChangeSourceAccess(media);
  const mp4 = useChangeMp4Support(media);
  const onSuccess = () => showToast(words.saved);
  const mp4Support = media.mp4Support ?? "none";
  const error = requestError(source.error ?? mp4.error);
  return (
    <Card title={words.title} lead={words.lead}>
      <div className="stack">
        {mayChange ? (
          <div className="pair">
            <Choice
              label={words.source}
              hint={words.sourceHint}
              names={words.sourceNames}
              value={(source.isPending ? source.variables : media.sourceAccess) ? "on" : "off"}
              onChange={(value) => source.mutate(value === "on", { onSuccess })}
            />
            <Select
              label={words.mp4}
              hint={words.mp4Hint}
              options={SUPPORTS.map((value) => ({ value, name: words.mp4Names[value] }))}
              value={mp4.isPending ? (mp4.variables ?? mp4Support) : mp4Support}
              onChange={(value) => mp4.mutate(value, { onSuccess })}
            />
          </div>
        ) : (
          <dl className="facts">
            <div>
              <dt>{words.source}</dt>
              <dd>{words.sourceNames[media.sourceAccess ? "on" : "off"]}</dd>
            </div>
            <div>
              <dt>{words.mp4}</dt>
              <dd>{words.mp4Names[mp4Support]}</dd>
            </div>
          </dl>
        )}
        <FormProblem error={error} />
        {media.status === "Ready" && <Links media={media} />}
      </div>
    </Card>
  );
}

function Links({ media }: { media: Media }) {
  const { data: door } = useQuery(doorQuery);
  const files = filesOf(media);
  if (files.length === 0 || !door) return null;
  if (addressOf(media, door.publicUrl, "") === null) return <p className="small soft">{words.noPublic}</p>;
  return (
    <div className="row wrap" role="group" aria-label={words.links}>
      {files.map(({ name, file }) => (
        <a key={file} className="button small" href={addressOf(media, door.publicUrl, file) ?? ""} download>
          <Download className="i" aria-hidden />
          {name}
        </a>
      ))}
    </div>
  );
}
