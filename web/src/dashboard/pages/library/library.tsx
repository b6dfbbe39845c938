// The library: the media of a workspace, newest first, with filters, selection and what is done to many.

import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { Link as LinkIcon, Upload } from "lucide-react";
import { useLocation, useSearch } from "wouter";
import { useSession } from "../../api/queries.js";
import type { MediaFilter } from "../../api/media-list.js";
import type { Workspace } from "../../api/types.js";
import { focusHeading, Page } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { Outline } from "../../parts/outline.js";
import { FormProblem, LoadProblem, requestError } from "../../parts/problem.js";
import { text } from "../../text/en.js";
import { libraryText } from "../../text/library.js";
import { uploadStartText } from "../../text/upload-start.js";
import { openUploadPicker } from "../../upload-ui/intake.js";
import { NoMatch } from "./empty.js";
import { filterOf, isFiltered, searchOf } from "./filter.js";
import { Items } from "./items.js";
import { MoreButton } from "./more.js";
import { usePlace } from "./place.js";
import { SelectionBar } from "./selection-bar.js";
import { useSelection } from "./selection.js";
import { Toolbar } from "./toolbar.js";
import { useLibrary, useMayMove } from "./use-library.js";

const AddPanel = lazy(() => import("./add.js"));
const FirstStart = lazy(() => import("./first-start.js"));

export default function LibraryPage({ workspace }: { workspace: Workspace }) {
  const { actions } = useSession();
  const [path, navigate] = useLocation();
  const search = useSearch();
  const filter = useMemo(() => filterOf(search), [search]);
  const asksToAdd = new URLSearchParams(search).has("add");
  const [isAdding, setAdding] = useState(asksToAdd);
  const mayChange = actions.includes("media.change");
  const library = useLibrary(workspace.id, filter);
  const show = (next: MediaFilter) => navigate(path + searchOf(next), { replace: true });
  // The finder opens the form by the address.
  useEffect(() => {
    if (!asksToAdd) return;
    setAdding(true);
    navigate(path + searchOf(filter), { replace: true });
  }, [asksToAdd, navigate, path, filter]);
  const isEmpty = library.media?.length === 0 && !library.list.isPlaceholderData && !library.list.hasNextPage;
  useEffect(() => {
    if (isEmpty && library.waiting > 0) library.showNew();
  });
  const isFirstStart = isEmpty && !isFiltered(filter);
  const lead = library.media === undefined || isFirstStart ? undefined : (isFiltered(filter) ? libraryText.countMatching : libraryText.count)(library.total, library.isTotalLowerBound);
  return (
    <Page
      title={text.nav.library}
      lead={lead}
      actions={
        mayChange && (
          <>
            <Button aria-expanded={isAdding} onClick={() => setAdding(true)}>
              <LinkIcon className="i" aria-hidden />
              {libraryText.fromUrl}
            </Button>
            <Button kind="primary" onClick={openUploadPicker}>
              <Upload className="i" aria-hidden />
              {uploadStartText.upload}
            </Button>
          </>
        )
      }
    >
      {isAdding && (
        <Suspense fallback={<Outline />}>
          <AddPanel
            workspace={workspace}
            onClose={() => {
              setAdding(false);
              focusHeading();
            }}
            onAdded={() => void library.refresh()}
          />
        </Suspense>
      )}
      {!isFirstStart && <Toolbar workspaceId={workspace.id} filter={filter} onChange={show} />}
      {isFirstStart ? (
        <Suspense fallback={<Outline />}>
          <FirstStart workspace={workspace} />
        </Suspense>
      ) : (
        <Shown workspace={workspace} filter={filter} library={library} isEmpty={isEmpty} address={path + searchOf(filter)} onChange={show} />
      )}
    </Page>
  );
}

interface ShownProps {
  workspace: Workspace;
  filter: MediaFilter;
  library: ReturnType<typeof useLibrary>;
  isEmpty: boolean;
  address: string;
  onChange: (filter: MediaFilter) => void;
}

function Shown({ workspace, filter, library, isEmpty, address, onChange }: ShownProps) {
  const { list, media = [] } = library;
  const element = useRef<HTMLUListElement>(null);
  const selection = useSelection(media);
  const mayMove = useMayMove(element);
  const error = requestError(list.error);
  usePlace(element, address, list.isSuccess);
  // A selection of media that the list does not show would be changed unseen.
  useEffect(() => selection.clear(), [selection.clear, address]);
  useEffect(() => {
    if (library.waiting > 0 && selection.chosen.size === 0 && mayMove()) library.showNew();
  });

  if (library.media === undefined) {
    return error === null ? <Outline lines={8} /> : <LoadProblem error={error} onRetry={() => void list.refetch()} />;
  }
  if (isEmpty) return <NoMatch filter={filter} onChange={onChange} />;
  return (
    <div className={list.isPlaceholderData ? "library old" : "library"} aria-busy={list.isPlaceholderData || undefined}>
      {library.waiting > 0 && (
        <div className="new">
          <Button
            size="small"
            kind="primary"
            onClick={() => {
              library.showNew();
              scrollTo(0, 0);
              focusHeading();
            }}
          >
            {libraryText.isNew(library.waiting, library.isMoreWaiting)}
          </Button>
        </div>
      )}
      <Items list={element} media={media} selection={selection} />
      <FormProblem error={error} />
      {list.hasNextPage && !list.isPlaceholderData && (
        <MoreButton list={element} left={library.total - media.length} isBusy={list.isFetchingNextPage} hasFailed={list.isFetchNextPageError} onMore={() => list.fetchNextPage()} />
      )}
      {selection.chosen.size > 0 && (
        <SelectionBar workspace={workspace} filter={filter} total={library.total} isTotalLowerBound={library.isTotalLowerBound} shown={media} selection={selection} onRemoved={library.remove} onChanged={() => void library.refresh()} />
      )}
    </div>
  );
}
