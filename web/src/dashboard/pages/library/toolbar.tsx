// Search, filters, and the choice between grid and list.

import { LayoutGrid, List } from "lucide-react";
import type { MediaFilter } from "../../api/media-list.js";
import { useChangeSettings } from "../../api/queries.js";
import { focusHeading } from "../../frame/page.js";
import { useSettings } from "../../frame/settings.js";
import { Button } from "../../parts/button.js";
import { libraryText } from "../../text/library.js";
import { Chips } from "./chips.js";
import { isFiltered, withValues } from "./filter.js";
import { Search } from "./search.js";

interface Props {
  workspaceId: string;
  filter: MediaFilter;
  onChange: (filter: MediaFilter) => void;
}

export function Toolbar({ workspaceId, filter, onChange }: Props) {
  const clear = () => {
    onChange({});
    focusHeading();
  };
  return (
    <section className="toolbar library-tools" aria-label={libraryText.filters}>
      <Search workspaceId={workspaceId} title={filter.title ?? ""} onChange={(title) => onChange(withValues(filter, { title }))} />
      <div className="chips">
        <Chips filter={filter} onChange={onChange} />
        {isFiltered(filter) && (
          <Button kind="plain" onClick={clear}>
            {libraryText.clear}
          </Button>
        )}
      </div>
      <ViewChoice />
    </section>
  );
}

function ViewChoice() {
  const { library: view } = useSettings();
  const change = useChangeSettings();
  const icons = { grid: LayoutGrid, list: List };
  return (
    <div className="segment end" role="group" aria-label={libraryText.view}>
      {(["grid", "list"] as const).map((name) => {
        const Icon = icons[name];
        return (
          <button
            key={name}
            type="button"
            aria-label={libraryText.views[name]}
            title={libraryText.views[name]}
            aria-pressed={view === name}
            onClick={() => change.mutate({ library: name })}
          >
            <Icon className="i" aria-hidden />
          </button>
        );
      })}
    </div>
  );
}
