//! Maintenance of encoded renditions: backfills watched ones and evicts unwatched ones.
//!
//! All of them are a cache: an evicted rendition is encoded again on the next view.

use std::collections::BTreeSet;

use kinora_domain::{SourceId, Timestamp};
use kinora_packager::rendition_from_row_name;
use kinora_store::{ClaimedJob, JobKind, NewJob, Priority, RenditionCursor, RenditionRow, Tx};

use crate::Context;
use crate::cache_usage::{CacheUsage, RECENTLY_WATCHED_US};
use crate::error::JobError;

/// Interval of the maintenance.
const MAINTENANCE_EVERY_S: i64 = 60;
/// Maximum time without a view before a media falls back to its copy. M-35.
const UNWATCHED_MAX_US: i64 = 30 * 24 * 60 * 60 * Timestamp::SECOND;
/// Page size in rows.
const ROWS: u32 = 500;

/// Evicts excess renditions, queues backfills of recently watched ones, and the next run. May run twice.
pub(crate) async fn run(context: &Context, job: &ClaimedJob) -> Result<(), JobError> {
    let now = context.clock.now();
    evict(context, now).await?;
    for source in recently_watched(context, now).await? {
        enqueue_backfill(context, source, now).await?;
    }
    let job = job.clone();
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            // Once: several processes that start together may each have queued one.
            let run_at = now.plus_seconds(MAINTENANCE_EVERY_S);
            let kind = JobKind::MaintainRenditions;
            tx.enqueue_unique(NewJob { kind, workspace: None, run_at, priority: Priority::Low }).await?;
            Ok::<_, JobError>(())
        })
        .await
}

async fn recently_watched(context: &Context, now: Timestamp) -> Result<BTreeSet<SourceId>, JobError> {
    let mut sources = BTreeSet::new();
    let mut cursor = RenditionCursor::before_watched_at(now.plus_micros(-RECENTLY_WATCHED_US));
    loop {
        let page = context.store.renditions_by_watched_at(cursor, ROWS).await?;
        let Some(last) = page.last() else { return Ok(sources) };
        cursor = last.cursor();
        sources.extend(
            page.iter().filter(|row| row.broken_at.is_none()).map(|row| row.presentation.whole_source()),
        );
    }
}

async fn enqueue_backfill(context: &Context, source: SourceId, now: Timestamp) -> Result<(), JobError> {
    if !context.recent_backfills.try_record(source, now) {
        return Ok(());
    }
    let Some(media) = context.store.media_of_source(source).await? else { return Ok(()) };
    let kind = JobKind::Backfill { media: media.id, source };
    let job = NewJob { kind, workspace: Some(media.workspace), run_at: now, priority: Priority::Low };
    context.store.write(async move |tx: &mut Tx| tx.enqueue_unique(job.clone()).await).await?;
    Ok(())
}

/// Evicts renditions: those without a view for a month, then the longest unwatched until the rest fits. May
/// run twice.
async fn evict(context: &Context, now: Timestamp) -> Result<(), JobError> {
    let mut excess = CacheUsage::measure(context, now).await?.excess();
    let mut cursor = RenditionCursor::START;
    loop {
        let page = context.store.renditions_by_watched_at(cursor, ROWS).await?;
        let Some(last) = page.last() else { return Ok(()) };
        cursor = last.cursor();
        for row in page {
            match eviction_decision(&row, now, excess) {
                EvictionDecision::KeepRest => return Ok(()),
                EvictionDecision::Keep => {}
                EvictionDecision::Evict => {
                    context.packager.evict(row.id).await?;
                    tracing::info!(presentation.id = %row.presentation, rendition = row.name, bytes = row.bytes, "evicted a rendition");
                    excess = excess.saturating_sub(row.bytes);
                }
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum EvictionDecision {
    Keep,
    /// Keeps this one, and all that were watched later.
    KeepRest,
    Evict,
}

/// The verdict on one rendition, when all together exceed the limit by `excess` bytes.
///
/// Skips evicted renditions and those of a downloadable file: later ones may be equally old.
fn eviction_decision(row: &RenditionRow, now: Timestamp, excess: u64) -> EvictionDecision {
    let unused_us = now.micros_since(row.watched_at.unwrap_or(row.created_at));
    if row.watched_at.is_some() && excess == 0 && unused_us <= UNWATCHED_MAX_US {
        return EvictionDecision::KeepRest;
    }
    if rendition_from_row_name(&row.name).is_some() {
        return EvictionDecision::Keep; // of a file that a client wants
    }
    let is_empty = row.segments == 0;
    let is_too_much = excess > 0 && unused_us > RECENTLY_WATCHED_US;
    if !is_empty && (unused_us > UNWATCHED_MAX_US || is_too_much) {
        EvictionDecision::Evict
    } else {
        EvictionDecision::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{at, rendition_row};

    const DAY: i64 = 24 * 60 * 60;
    const MONTH: i64 = 30 * DAY;

    /// A rendition that was created on the first day, with one segment.
    fn row(watched_at_s: Option<i64>) -> RenditionRow {
        RenditionRow {
            bytes: 100,
            segments: 1,
            watched_at: watched_at_s.map(at),
            created_at: at(DAY),
            ..rendition_row()
        }
    }

    #[track_caller]
    fn check(row: &RenditionRow, now: Timestamp, excess: u64, expected: EvictionDecision) {
        assert_eq!(eviction_decision(row, now, excess), expected, "{row:?} {now} {excess}");
    }

    #[test]
    fn renditions_of_files_are_never_evicted() {
        let file_rendition = RenditionRow { name: "720p whole".into(), ..row(None) };
        check(&row(None), at(1000 * DAY), u64::MAX, EvictionDecision::Evict);
        check(&file_rendition, at(1000 * DAY), u64::MAX, EvictionDecision::Keep);
        check(&file_rendition, at(1000 * DAY), 0, EvictionDecision::Keep);
    }

    #[test]
    fn rendition_unwatched_for_over_a_month_is_evicted() {
        let watched = row(Some(2 * DAY));
        check(&watched, at(2 * DAY), 0, EvictionDecision::KeepRest);
        check(&watched, at(2 * DAY + MONTH), 0, EvictionDecision::KeepRest);
        check(&watched, at(2 * DAY + MONTH).plus_micros(1), 0, EvictionDecision::Evict);
    }

    #[test]
    fn evicted_rendition_does_not_stop_later_evictions() {
        let evicted = RenditionRow { bytes: 0, segments: 0, ..row(Some(2 * DAY)) };
        let file_rendition = RenditionRow { name: "720p whole".into(), ..row(Some(2 * DAY)) };
        let now = at(4 * DAY + MONTH);
        for passed in [evicted, file_rendition] {
            check(&passed, now, 0, EvictionDecision::Keep);
        }
        check(&row(Some(3 * DAY)), now, 0, EvictionDecision::Evict);
        check(&row(Some(5 * DAY)), now, 0, EvictionDecision::KeepRest);
    }

    #[test]
    fn never_watched_rendition_ages_from_its_creation() {
        check(&row(None), at(DAY + MONTH), 0, EvictionDecision::Keep);
        check(&row(None), at(DAY + MONTH).plus_micros(1), 0, EvictionDecision::Evict);
    }

    #[test]
    fn empty_rendition_has_nothing_to_evict() {
        let empty = RenditionRow { bytes: 0, segments: 0, ..row(Some(2 * DAY)) };
        check(&empty, at(1000 * DAY), 0, EvictionDecision::Keep);
        check(&empty, at(1000 * DAY), u64::MAX, EvictionDecision::Keep);
    }

    #[test]
    fn full_cache_evicts_renditions_unwatched_for_five_minutes() {
        let watched = row(Some(2 * DAY));
        check(&watched, at(2 * DAY + 300).plus_micros(1), 0, EvictionDecision::KeepRest);
        check(&watched, at(2 * DAY + 300).plus_micros(1), 1, EvictionDecision::Evict);
        check(&watched, at(2 * DAY + 300), u64::MAX, EvictionDecision::Keep);
        check(&watched, at(2 * DAY - 1), u64::MAX, EvictionDecision::Keep); // clocks of two machines differ
        check(&row(None), at(DAY + 300), u64::MAX, EvictionDecision::Keep);
        check(&row(None), at(DAY + 301), 1, EvictionDecision::Evict);
    }
}
