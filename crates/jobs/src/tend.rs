//! Encoded renditions over time: those that are watched are filled, those that are not are let go.
//!
//! All of them are a cache: what is let go is made again when somebody watches.

use std::collections::BTreeSet;

use kinora_domain::{SourceId, Timestamp};
use kinora_packager::whole_of;
use kinora_store::{ClaimedJob, JobKind, NewJob, Priority, RenditionPlace, RenditionRow, Tx};

use crate::Context;
use crate::cache::{Cache, WATCHED_LATELY_US};
use crate::error::JobError;

/// How often it is looked which renditions are watched.
const TEND_EVERY_S: i64 = 60;
/// A media that nobody watched for so long falls back to its copy. M-35.
const UNWATCHED_MAX_US: i64 = 30 * 24 * 60 * 60 * Timestamp::SECOND;
/// Rows a page.
const ROWS: u32 = 500;

/// Lets go of what is too much, asks for fills of what was watched lately, and for the next time. May run
/// twice.
pub(crate) async fn run(context: &Context, job: &ClaimedJob) -> Result<(), JobError> {
    let now = context.clock.now();
    let_go(context, now).await?;
    for source in watched_lately(context, now).await? {
        ask_for_fill(context, source, now).await?;
    }
    let job = job.clone();
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            // Once: several processes that start together may each have asked for one.
            let run_at = now.plus_seconds(TEND_EVERY_S);
            let kind = JobKind::TendRenditions;
            tx.enqueue_once(NewJob { kind, workspace: None, run_at, priority: Priority::Low }).await?;
            Ok::<_, JobError>(())
        })
        .await
}

async fn watched_lately(context: &Context, now: Timestamp) -> Result<BTreeSet<SourceId>, JobError> {
    let mut sources = BTreeSet::new();
    let mut place = RenditionPlace::watched_since(now.plus_micros(-WATCHED_LATELY_US));
    loop {
        let page = context.store.renditions_by_watch(place, ROWS).await?;
        let Some(last) = page.last() else { return Ok(sources) };
        place = last.place();
        sources.extend(
            page.iter().filter(|row| row.broken_at.is_none()).map(|row| row.presentation.whole_source()),
        );
    }
}

async fn ask_for_fill(context: &Context, source: SourceId, now: Timestamp) -> Result<(), JobError> {
    if !context.fills_asked.is_due(source, now) {
        return Ok(());
    }
    let Some(media) = context.store.media_of_source(source).await? else { return Ok(()) };
    let kind = JobKind::Fill { media: media.id, source };
    let job = NewJob { kind, workspace: Some(media.workspace), run_at: now, priority: Priority::Low };
    context.store.write(async move |tx: &mut Tx| tx.enqueue_once(job.clone()).await).await?;
    Ok(())
}

/// Lets renditions go: those that nobody watched for a month, then the longest unwatched until the rest fits.
/// May run twice.
async fn let_go(context: &Context, now: Timestamp) -> Result<(), JobError> {
    let mut excess = Cache::look(context, now).await?.excess();
    let mut place = RenditionPlace::START;
    loop {
        let page = context.store.renditions_by_watch(place, ROWS).await?;
        let Some(last) = page.last() else { return Ok(()) };
        place = last.place();
        for row in page {
            match verdict(&row, now, excess) {
                Verdict::KeepThisAndLater => return Ok(()),
                Verdict::Keep => {}
                Verdict::LetGo => {
                    context.packager.evict(row.id).await?;
                    tracing::info!(presentation.id = %row.presentation, rendition = row.name, bytes = row.bytes, "let a rendition go");
                    excess = excess.saturating_sub(row.bytes);
                }
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// As are all that were watched later.
    KeepThisAndLater,
    LetGo,
}

/// What becomes of one rendition, when all together take `excess` bytes too much.
///
/// What was evicted before, and what belongs to a file, is passed over: others behind it may be as old.
fn verdict(row: &RenditionRow, now: Timestamp, excess: u64) -> Verdict {
    let unused_us = now.micros_since(row.watched_at.unwrap_or(row.created_at));
    if row.watched_at.is_some() && excess == 0 && unused_us <= UNWATCHED_MAX_US {
        return Verdict::KeepThisAndLater;
    }
    if whole_of(&row.name).is_some() {
        return Verdict::Keep; // of a file that a client wants
    }
    let is_empty = row.segments == 0;
    let is_too_much = excess > 0 && unused_us > WATCHED_LATELY_US;
    if !is_empty && (unused_us > UNWATCHED_MAX_US || is_too_much) { Verdict::LetGo } else { Verdict::Keep }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{at, rendition_row};

    const DAY: i64 = 24 * 60 * 60;
    const MONTH: i64 = 30 * DAY;

    /// A rendition that was begun on the first day, with one segment.
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
    fn check(row: &RenditionRow, now: Timestamp, excess: u64, expected: Verdict) {
        assert_eq!(verdict(row, now, excess), expected, "{row:?} {now} {excess}");
    }

    #[test]
    fn renditions_of_files_are_never_evicted() {
        let whole = RenditionRow { name: "720p whole".into(), ..row(None) };
        check(&row(None), at(1000 * DAY), u64::MAX, Verdict::LetGo);
        check(&whole, at(1000 * DAY), u64::MAX, Verdict::Keep);
        check(&whole, at(1000 * DAY), 0, Verdict::Keep);
    }

    #[test]
    fn rendition_unwatched_for_over_a_month_is_evicted() {
        let watched = row(Some(2 * DAY));
        check(&watched, at(2 * DAY), 0, Verdict::KeepThisAndLater);
        check(&watched, at(2 * DAY + MONTH), 0, Verdict::KeepThisAndLater);
        check(&watched, at(2 * DAY + MONTH).plus_micros(1), 0, Verdict::LetGo);
    }

    #[test]
    fn an_evicted_rendition_does_not_shield_those_watched_after_it() {
        let evicted = RenditionRow { bytes: 0, segments: 0, ..row(Some(2 * DAY)) };
        let whole = RenditionRow { name: "720p whole".into(), ..row(Some(2 * DAY)) };
        let now = at(4 * DAY + MONTH);
        for passed in [evicted, whole] {
            check(&passed, now, 0, Verdict::Keep);
        }
        check(&row(Some(3 * DAY)), now, 0, Verdict::LetGo);
        check(&row(Some(5 * DAY)), now, 0, Verdict::KeepThisAndLater);
    }

    #[test]
    fn never_watched_rendition_ages_from_its_creation() {
        check(&row(None), at(DAY + MONTH), 0, Verdict::Keep);
        check(&row(None), at(DAY + MONTH).plus_micros(1), 0, Verdict::LetGo);
    }

    #[test]
    fn empty_rendition_has_nothing_to_evict() {
        let empty = RenditionRow { bytes: 0, segments: 0, ..row(Some(2 * DAY)) };
        check(&empty, at(1000 * DAY), 0, Verdict::Keep);
        check(&empty, at(1000 * DAY), u64::MAX, Verdict::Keep);
    }

    #[test]
    fn full_cache_evicts_what_was_not_watched_for_five_minutes() {
        let watched = row(Some(2 * DAY));
        check(&watched, at(2 * DAY + 300).plus_micros(1), 0, Verdict::KeepThisAndLater);
        check(&watched, at(2 * DAY + 300).plus_micros(1), 1, Verdict::LetGo);
        check(&watched, at(2 * DAY + 300), u64::MAX, Verdict::Keep);
        check(&watched, at(2 * DAY - 1), u64::MAX, Verdict::Keep); // clocks of two machines differ
        check(&row(None), at(DAY + 300), u64::MAX, Verdict::Keep);
        check(&row(None), at(DAY + 301), 1, Verdict::LetGo);
    }
}
