// A one-time link, shown once.

import type { MadeLink } from "../../api/people.js";
import { Button } from "../../parts/button.js";
import { CopyLine } from "../../parts/copy.js";
import { Panel } from "../../parts/panel.js";
import { Time } from "../../parts/time.js";
import { peopleText } from "../../text/people.js";

interface Props {
  link: MadeLink;
  onCopied: () => void;
  onClose: () => void;
}

export function LinkPanel({ link, onCopied, onClose }: Props) {
  return (
    <Panel title={`${peopleText.link.title[link.kind]} ${peopleText.link.for(link.email)}`}>
      <p className="small soft">
        {peopleText.link.lead} <Time at={link.endsAt} />.
      </p>
      <CopyLine value={link.url} what={peopleText.link.what} onDone={(isCopied) => isCopied && onCopied()} />
      <div>
        <Button onClick={onClose}>{peopleText.link.done}</Button>
      </div>
    </Panel>
  );
}
