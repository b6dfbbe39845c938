// In the place of media that no filter leaves: what to loosen.

import { SearchX } from "lucide-react";
import type { MediaFilter } from "../../api/media-list.js";
import { focusHeading } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { libraryText } from "../../text/library.js";
import { mediaText } from "../../text/media.js";
import { withValues } from "./filter.js";

export function NoMatch({ filter, onChange }: { filter: MediaFilter; onChange: (filter: MediaFilter) => void }) {
  const show = (next: MediaFilter) => {
    onChange(next);
    focusHeading();
  };
  const { status, title, creatorId, from, to, metadata = {} } = filter;
  const parts: [string, MediaFilter][] = [];
  if (title !== undefined) parts.push([libraryText.set(libraryText.search, title), withValues(filter, { title: undefined })]);
  if (status !== undefined) parts.push([libraryText.set(libraryText.state, mediaText.states[status]), withValues(filter, { status: undefined })]);
  if (from !== undefined || to !== undefined) parts.push([libraryText.created, withValues(filter, { from: undefined, to: undefined })]);
  if (creatorId !== undefined) parts.push([libraryText.set(libraryText.creator, creatorId), withValues(filter, { creatorId: undefined })]);
  for (const [key, value] of Object.entries(metadata)) {
    const rest = Object.fromEntries(Object.entries(metadata).filter(([name]) => name !== key));
    parts.push([libraryText.set(key, value || libraryText.anyValue), withValues(filter, { metadata: rest })]);
  }
  return (
    <Empty
      icon={SearchX}
      title={libraryText.noMatchTitle}
      actions={
        <div className="row wrap loosen">
          {parts.map(([name, without]) => (
            <Button key={name} size="small" aria-label={libraryText.remove(name)} onClick={() => show(without)}>
              <span className="clip" dir="auto">
                {name}
              </span>
            </Button>
          ))}
          {parts.length > 1 && (
            <Button size="small" onClick={() => show({})}>
              {libraryText.clear}
            </Button>
          )}
        </div>
      }
    >
      <p>{libraryText.noMatch}</p>
      {title !== undefined && <p>{libraryText.noMatchTitleHint}</p>}
    </Empty>
  );
}
