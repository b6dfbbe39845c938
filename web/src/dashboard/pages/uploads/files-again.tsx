// After a reload: one click opens the files by their handles, or the person chooses them again.

import { useState } from "react";
import { CircleAlert } from "lucide-react";
import { Button } from "../../parts/button.js";
import { uploadsText } from "../../text/uploads.js";
import type { Item } from "../../upload/item.js";
import type { Refused } from "../../upload/match.js";
import { chooseFiles } from "../../upload-ui/intake.js";
import { useQueue } from "../../upload-ui/use-queue.js";

const words = uploadsText.again;

export function FilesAgain({ items }: { items: Item[] }) {
  const queue = useQueue();
  const [refused, setRefused] = useState<Refused[]>([]);
  const withHandle = items.filter(({ handle }) => handle !== null);
  const without = items.filter(({ handle }) => handle === null);
  const choose = () => void chooseFiles().then(async (chosen) => setRefused(await queue.findAgain(chosen, items)));
  if (items.length === 0 && refused.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="files-again">
      <h2 id="files-again">{items.length > 0 ? words.title(items.length) : uploadsText.refusedTitle}</h2>
      <div role="alert">
        {refused.map(({ name, mismatch, expected }) => (
          <div key={name} className="note bad">
            <CircleAlert className="i" aria-hidden />
            <p>{uploadsText.mismatch(name, mismatch, expected && uploadsText.size(expected.size))}</p>
          </div>
        ))}
      </div>
      {withHandle.length > 0 && (
        <div className="stack tight">
          <p className="small soft lead">{words.handles(withHandle.length)}</p>
          <div className="row wrap">
            <Button kind="primary" onClick={() => void queue.openHandles(withHandle.map(({ id }) => id))}>
              {words.resume(withHandle.length)}
            </Button>
            <Button onClick={choose}>{words.chooseButton(withHandle.length)}</Button>
          </div>
        </div>
      )}
      {without.length > 0 && (
        <div className="stack tight">
          <p className="small soft lead">{words.choose(without.length)}</p>
          <div>
            <Button kind={withHandle.length > 0 ? "default" : "primary"} onClick={choose}>
              {words.chooseButton(without.length)}
            </Button>
          </div>
        </div>
      )}
      {items.length === 0 && (
        <div>
          <Button onClick={() => setRefused([])}>{uploadsText.actions.close}</Button>
        </div>
      )}
    </section>
  );
}
