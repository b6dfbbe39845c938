// A one-time link, shown once.

import { useState } from "react";
import type { MadeLink } from "../../api/people.js";
import { Button } from "../../parts/button.js";
import { CopyLine } from "../../parts/copy.js";
import { Panel } from "../../parts/panel.js";
import { Question } from "../../parts/question.js";
import { Time } from "../../parts/time.js";
import { peopleText } from "../../text/people.js";

interface Props {
  link: MadeLink;
  isCopied: boolean;
  onCopied: () => void;
  onClose: () => void;
}

/** Asks before a link that was not copied is closed. */
export function LinkPanel({ link, isCopied, onCopied, onClose }: Props) {
  const [isAsking, setAsking] = useState(false);
  return (
    <Panel title={`${peopleText.link.title[link.kind]} ${peopleText.link.for(link.email)}`}>
      <p className="small soft">
        {peopleText.link.lead} <Time at={link.endsAt} />.
      </p>
      <div onCopy={onCopied}>
        <CopyLine value={link.url} what={peopleText.link.what} onDone={(isCopied) => isCopied && onCopied()} />
      </div>
      <div>
        <Button onClick={() => (isCopied ? onClose() : setAsking(true))}>{peopleText.link.done}</Button>
      </div>
      {isAsking && <Question {...peopleText.link.closing} onStay={() => setAsking(false)} onLeave={onClose} />}
    </Panel>
  );
}
