// The library: the media of a workspace, newest first, with filters, selection and what is done to many.

import { lazy, startTransition, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link as LinkIcon, Upload } from "lucide-react";
import { useLocation, useSearch } from "wouter";
import type { Media } from "../../api/media-types.js";
import { useSession } from "../../api/queries.js";
import { type MediaFilter, mediaListQuery } from "../../api/media-list.js";
import type { Workspace } from "../../api/types.js";
import { storedBytesQuery } from "../../api/usage.js";
import { focusHeading, Page } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { bytes } from "../../parts/bytes.js";
import { Loading } from "../../parts/loading.js";
import { Outline } from "../../parts/outline.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { text } from "../../text/en.js";
import { libraryText } from "../../text/library.js";
import { uploadStartText } from "../../text/upload-start.js";
import { openUploadPicker } from "../../upload-ui/intake.js";
import { NoMatch } from "./empty.js";
import { filterOf, isFiltered, searchOf } from "./filter.js";
import { Items } from "./items.js";
import { MoreButton } from "./more.js";
import { hasPlace, usePlace } from "./place.js";
import { SelectionBar } from "./selection-bar.js";
import { useSelection } from "./selection.js";
import { Toolbar } from "./toolbar.js";
import { useLibrary, useMayMove } from "./use-library.js";

const NO_MEDIA: Media[] = [];

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
  const stored = useQuery({ ...storedBytesQuery(workspace.id), enabled: library.media !== undefined && !isFirstStart }).data ?? null;
  const lead = library.media === undefined || isFirstStart ? undefined : leadOf(filter, library, stored);
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

/** How many media match; of all media also the bytes that they take. */
function leadOf(filter: MediaFilter, { total, isTotalLowerBound }: ReturnType<typeof useLibrary>, stored: number | null): string {
  if (isFiltered(filter)) return libraryText.countMatching(total, isTotalLowerBound);
  const count = libraryText.count(total, isTotalLowerBound);
  return stored === null ? count : libraryText.stored(count, bytes(stored));
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
  const { list, media = NO_MEDIA } = library;
  const element = useRef<HTMLUListElement>(null);
  const selection = useSelection(media);
  const mayMove = useMayMove(element);
  const error = requestError(list.error);
  const loadMore = useCallback(() => void list.fetchNextPage({ cancelRefetch: false }), [list.fetchNextPage]);
  usePlace(element, address, {
    isShown: list.isSuccess && !list.isPlaceholderData,
    media,
    loadMore: list.hasNextPage && !list.isFetchNextPageError ? loadMore : null,
    isLoading: list.isFetchingNextPage,
  });
  const [isWhole, setWhole] = useState(hasPlace);
  const isLoaded = library.media !== undefined;
  useEffect(() => {
    if (isLoaded) startTransition(() => setWhole(true));
  }, [isLoaded]);
  // A selection of media that the list does not show would be changed unseen.
  useEffect(() => selection.clear(), [selection.clear, address]);
  useEffect(() => {
    if (library.waiting > 0 && selection.chosen.size === 0 && mayMove()) library.showNew();
  });

  if (library.media === undefined) {
    return <Loading query={list} queryKey={mediaListQuery(workspace.id, filter).queryKey} lines={8} />;
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
      <Items list={element} media={media} isWhole={isWhole} selection={selection} />
      <FormProblem error={error} />
      {/* Below the entries of the first frame the end would be near, and the next page be read at once. */}
      {isWhole && list.hasNextPage && !list.isPlaceholderData && (
        <MoreButton list={element} left={library.total - media.length} isBusy={list.isFetchingNextPage} hasFailed={list.isFetchNextPageError} onMore={() => list.fetchNextPage()} />
      )}
      {selection.chosen.size > 0 && (
        <SelectionBar workspace={workspace} filter={filter} total={library.total} isTotalLowerBound={library.isTotalLowerBound} shown={media} selection={selection} onRemoved={library.remove} onChanged={() => void library.refresh()} />
      )}
    </div>
  );
}
