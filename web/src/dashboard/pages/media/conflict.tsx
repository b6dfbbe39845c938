// Two versions of the details side by side, after another change came first.

import { useEffect, useRef } from "react";
import type { MediaDetails } from "../../api/media.js";
import { Button } from "../../parts/button.js";
import { mediaPageText } from "../../text/media-page.js";
import { type Difference, differences } from "./draft.js";

const words = mediaPageText.conflict;

interface Props {
  mine: MediaDetails;
  theirs: MediaDetails;
  onKeepMine: () => void;
  onTakeTheirs: () => void;
}

export function Conflict({ mine, theirs, onKeepMine, onTakeTheirs }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className="conflict stack tight" aria-labelledby="conflict">
      <h3 id="conflict" ref={heading} tabIndex={-1}>
        {words.title}
      </h3>
      <p className="small soft">{words.lead}</p>
      <dl className="stack tight">
        {differences(mine, theirs).map((difference) => (
          <div key={nameOf(difference)}>
            <dt className="xs strong">
              <bdi>{nameOf(difference)}</bdi>
            </dt>
            <dd className="small">
              <span className="xs faint">{words.mine}</span> <Value value={difference.mine} />
            </dd>
            <dd className="small">
              <span className="xs faint">{words.theirs}</span> <Value value={difference.theirs} />
            </dd>
          </div>
        ))}
      </dl>
      <div className="row wrap">
        <Button size="small" onClick={onKeepMine}>
          {words.keepMine}
        </Button>
        <Button size="small" onClick={onTakeTheirs}>
          {words.takeTheirs}
        </Button>
      </div>
    </section>
  );
}

function Value({ value }: { value: string | null }) {
  return value === null || value === "" ? <span className="faint">{words.none}</span> : <bdi>{value}</bdi>;
}

function nameOf({ field }: Difference): string {
  if (field.kind === "metadata") return field.key;
  return field.kind === "title" ? mediaPageText.edit.title : mediaPageText.edit.creatorId;
}
