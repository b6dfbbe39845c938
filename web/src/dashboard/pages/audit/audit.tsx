// The audit log: who did what to accounts, credentials and settings. Its filters are in the address.

import { useQueryClient, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Download, ScrollText } from "lucide-react";
import { useLocation, useSearch } from "wouter";
import { type AuditFilter, auditFile, auditQuery, newestAuditQuery } from "../../api/audit.js";
import { focusHeading, Page } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { Empty } from "../../parts/empty.js";
import { Outline } from "../../parts/outline.js";
import { FormProblem, LoadProblem, requestError } from "../../parts/problem.js";
import { text } from "../../text/en.js";
import { auditText } from "../../text/audit.js";
import { Entries } from "./entries.js";
import { filterOf, searchOf } from "./filter.js";
import { Filters } from "./filters.js";

export default function AuditPage() {
  const [path, navigate] = useLocation();
  const filter = filterOf(useSearch());
  const show = (next: AuditFilter) => navigate(path + searchOf(next), { replace: true });
  /** By a button that disappears with the filter. */
  const showByButton = (next: AuditFilter) => {
    show(next);
    focusHeading();
  };
  return (
    <Page
      title={text.nav.audit}
      lead={auditText.lead}
      actions={
        <a className="button" href={auditFile(filter)} download title={auditText.exportHint}>
          <Download className="i" aria-hidden />
          {auditText.export}
        </a>
      }
    >
      <Filters filter={filter} onChange={show} />
      <Log key={searchOf(filter)} filter={filter} onFilter={showByButton} />
    </Page>
  );
}

function Log({ filter, onFilter }: { filter: AuditFilter; onFilter: (filter: AuditFilter) => void }) {
  const client = useQueryClient();
  const log = useInfiniteQuery(auditQuery(filter));
  const newest = useQuery({ ...newestAuditQuery(filter), enabled: log.isSuccess });
  const error = requestError(log.error);
  const entries = log.data?.pages.flatMap((page) => page.entries);
  if (error?.status === 422) {
    return <NoEntries words={auditText.invalid} onClear={() => onFilter({})} />;
  }
  if (entries === undefined) {
    return error === null ? <Outline lines={8} /> : <LoadProblem error={error} onRetry={() => void log.refetch()} />;
  }
  const shown = entries[0]?.id ?? "";
  const hasNew = (newest.data ?? "") > shown;
  const loadAgain = () => {
    // The first page alone is read again.
    client.setQueryData(auditQuery(filter).queryKey, (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) });
    void log.refetch();
  };
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <div className="toolbar">
        <span className="small faint">{auditText.count(entries.length, !log.hasNextPage)}</span>
        {/* New entries wait behind this button: they would move those that are read. */}
        <Button size="small" className="end" kind={hasNew ? "default" : "plain"} isBusy={log.isRefetching} onClick={loadAgain}>
          {hasNew ? auditText.loadNew : auditText.load}
        </Button>
      </div>
      {entries.length > 0 ? (
        <Entries entries={entries} filter={filter} onFilter={onFilter} />
      ) : (
        <NoEntries words={isFiltered ? auditText.noMatch : auditText.none} onClear={isFiltered ? () => onFilter({}) : undefined} />
      )}
      <div className="more">
        <FormProblem error={error} />
        {log.hasNextPage && (
          <Button isBusy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            {auditText.loadMore}
          </Button>
        )}
      </div>
    </>
  );
}

function NoEntries({ words: [title, sentence], onClear }: { words: readonly [string, string]; onClear: (() => void) | undefined }) {
  return (
    <Empty icon={ScrollText} title={title} actions={onClear && <Button onClick={onClear}>{auditText.clear}</Button>}>
      {sentence}
    </Empty>
  );
}
