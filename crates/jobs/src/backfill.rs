//! Backfill: encodes all rungs of a media ahead of requests, from one decode.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kinora_domain::{MediaId, MediaState, PresentationId, Resolution, SourceId, Timestamp};
use kinora_index::Index;
use kinora_packager::Error;
use kinora_store::{ClaimedJob, RenditionRow};

use crate::Context;
use crate::cache_usage::{CacheUsage, RECENTLY_WATCHED_US};
use crate::error::{JobError, encode_ahead_result};

/// Minimum time between two backfill requests for a source. Failed segments are not retried every minute.
const REPEAT_AFTER_US: i64 = 15 * 60 * Timestamp::SECOND;

/// Encodes the missing segments of the rungs of a ready media, as far as the cache has space for them.
///
/// May run twice, and continues where an earlier run ended: stored segments are not encoded again. Its
/// processes have the lowest priority.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    if let Some(max) = max_resolution(context, media, source).await? {
        let now = context.clock.now();
        let cache = CacheUsage::measure(context, now).await?;
        encode_ahead_result(backfill(context, source, max, cache, now).await)?;
    }
    let job = job.clone();
    context.store.write(async move |tx| tx.complete_job(&job).await).await?;
    Ok(())
}

async fn backfill(
    context: &Context,
    source: SourceId,
    max: Resolution,
    cache: CacheUsage,
    now: Timestamp,
) -> Result<(), Error> {
    let packaged = context.packager.packaged(PresentationId::of(source)).await?;
    let rows = context.store.renditions_of(PresentationId::of(source)).await?;
    let seconds = video_duration_s(packaged.index());
    let rungs = packaged.rungs(max).into_iter().map(|rung| {
        let row = rows.iter().find(|row| row.name == rung.name.to_string());
        let maxrate = rung.maxrate;
        BackfillCandidate::new(rung, maxrate, seconds, row, now)
    });
    let rungs = select_fitting(rungs.collect(), cache);
    let on_progress = |progress: kinora_packager::BackfillProgress| {
        tracing::debug!(source.id = %source, done = progress.done, of = progress.total, "backfill continues");
    };
    context.packager.backfill(&packaged, &rungs, on_progress).await
}

/// A rung that may be backfilled.
#[derive(Debug, PartialEq, Eq)]
struct BackfillCandidate<R> {
    rung: R,
    /// Upper limit of the missing bytes.
    missing_bytes: u64,
    is_watched: bool,
}

impl<R> BackfillCandidate<R> {
    /// `maxrate` is in bits per second, `seconds` the length of the video, and `row` the stored state of the
    /// rung.
    fn new(rung: R, maxrate: u32, seconds: u64, row: Option<&RenditionRow>, now: Timestamp) -> Self {
        let total_bytes = u64::from(maxrate / 8).saturating_mul(seconds);
        Self {
            rung,
            missing_bytes: total_bytes.saturating_sub(row.map_or(0, |row| row.bytes)),
            is_watched: row
                .and_then(|row| row.watched_at)
                .is_some_and(|watched| now.micros_since(watched) <= RECENTLY_WATCHED_US),
        }
    }
}

/// The rungs that fit the cache completely, in their original order. Watched rungs are reserved first.
fn select_fitting<R>(candidates: Vec<BackfillCandidate<R>>, mut cache: CacheUsage) -> Vec<R> {
    let mut is_selected = vec![false; candidates.len()];
    for is_watched in [true, false] {
        for (is_filled, candidate) in is_selected.iter_mut().zip(&candidates) {
            if candidate.is_watched == is_watched {
                *is_filled = cache.try_reserve(candidate.missing_bytes, is_watched);
            }
        }
    }
    let selected = candidates.into_iter().zip(is_selected).filter(|(_, is_filled)| *is_filled);
    selected.map(|(wanted, _)| wanted.rung).collect()
}

/// Duration of the video in seconds, rounded up.
fn video_duration_s(index: &Index) -> u64 {
    let Some((video, _)) = index.video() else { return 0 };
    let end = index.plan.encoded_video.last().map_or(0, |segment| segment.end);
    whole_seconds(end, video.timescale)
}

/// Ticks in seconds, rounded up.
fn whole_seconds(ticks: i64, timescale: u32) -> u64 {
    u64::try_from(ticks).unwrap_or(0).div_ceil(u64::from(timescale.max(1)))
}

/// The largest resolution offered for the media; `None` when there is nothing to backfill.
async fn max_resolution(
    context: &Context,
    media: MediaId,
    source: SourceId,
) -> Result<Option<Resolution>, JobError> {
    let media = context.store.media_by_id(media).await?;
    Ok(media
        .filter(|media| is_backfill_target(&media.state, source))
        .map(|media| media.settings.max_resolution))
}

/// Whether the rungs of this source are backfilled: the media is ready, still has that source, and its video
/// can be decoded.
fn is_backfill_target(state: &MediaState, source: SourceId) -> bool {
    match state {
        MediaState::Ready { source: current, facts, .. } => *current == source && !facts.does_not_decode,
        MediaState::Created | MediaState::Downloading { .. } | MediaState::Failed { .. } => false,
    }
}

/// The recent backfill requests of this process; clones share state.
#[derive(Debug, Clone, Default)]
pub struct RecentBackfills(Arc<Mutex<HashMap<SourceId, Timestamp>>>);

impl RecentBackfills {
    /// Whether a backfill of this source is due now; if so, records the request.
    pub(crate) fn try_record(&self, source: SourceId, now: Timestamp) -> bool {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|_, at| now.micros_since(*at) < REPEAT_AFTER_US);
        if recent.contains_key(&source) {
            return false;
        }
        recent.insert(source, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use kinora_domain::{Failure, FailureCode, Media};

    use super::*;
    use crate::fixture::{at, created, ready, rendition_row, source_id};

    #[test]
    fn backfill_prefers_watched_renditions_within_cache_limit() {
        let check = |allowed: Option<u64>, expected: &[&str]| {
            let candidates = [("720p", 500, false), ("480p", 300, true), ("240p", 100, false)];
            let wanted = candidates
                .map(|(rung, missing, is_watched)| BackfillCandidate {
                    rung,
                    missing_bytes: missing,
                    is_watched,
                })
                .into();
            let filled = select_fitting(wanted, CacheUsage::new(0, 0, allowed, None));
            assert_eq!(filled, expected, "{allowed:?}");
        };
        check(None, &["720p", "480p", "240p"]);
        check(Some(900), &["720p", "480p", "240p"]);
        check(Some(800), &["720p", "480p"]);
        check(Some(400), &["480p", "240p"]);
        check(Some(299), &["240p"]);
        check(Some(99), &[]);
    }

    #[test]
    fn missing_bytes_are_counted_at_the_highest_rate() {
        let check =
            |maxrate: u32, seconds: u64, stored: Option<(u64, Option<i64>)>, expected: (u64, bool)| {
                let row = stored.map(|(bytes, watched_at)| RenditionRow {
                    bytes,
                    watched_at: watched_at.map(at),
                    ..rendition_row()
                });
                let candidate = BackfillCandidate::new("720p", maxrate, seconds, row.as_ref(), at(1000));
                let (missing_bytes, is_watched) = expected;
                assert_eq!(
                    candidate,
                    BackfillCandidate { rung: "720p", missing_bytes, is_watched },
                    "{maxrate} {seconds} {stored:?}"
                );
            };
        check(8_000, 10, None, (10_000, false));
        check(8_007, 10, None, (10_000, false)); // whole bytes a second
        check(8_000, 0, None, (0, false));
        check(8_000, 10, Some((4_000, None)), (6_000, false));
        check(8_000, 10, Some((10_001, None)), (0, false)); // the last segment may be longer
        check(8_000, 10, Some((0, Some(700))), (10_000, true));
        check(8_000, 10, Some((0, Some(699))), (10_000, false)); // more than five minutes ago
        check(8_000, 10, Some((0, Some(1001))), (10_000, true)); // clocks of two machines differ
        check(u32::MAX, u64::MAX, None, (u64::MAX, false));
    }

    #[test]
    fn video_length_is_rounded_up_to_seconds() {
        let check = |ticks: i64, timescale: u32, expected: u64| {
            assert_eq!(whole_seconds(ticks, timescale), expected, "{ticks} of {timescale}");
        };
        check(0, 90_000, 0);
        check(1, 90_000, 1);
        check(90_000, 90_000, 1);
        check(90_001, 90_000, 2);
        check(-1, 90_000, 0);
        check(5, 0, 5); // an index never has it
    }

    #[test]
    fn only_current_source_of_ready_media_is_backfilled() {
        let check = |media: Media, expected: bool| {
            assert_eq!(is_backfill_target(&media.state, source_id(5)), expected, "{:?}", media.state);
        };
        check(created(), false);
        check(created().start_download(source_id(5), at(2)).unwrap(), false);
        check(created().fail(Failure::new(FailureCode::NotMedia, "no media"), at(2)).unwrap().0, false);
        check(ready(source_id(5)), true);
        check(ready(source_id(6)), false);
        check(ready(source_id(5)).withdraw_copy(source_id(5), at(4)).unwrap().0, false);
    }

    #[test]
    fn backfill_is_enqueued_again_after_15_minutes_per_source() {
        let recent = RecentBackfills::default();
        let (one, two) = (source_id(1), source_id(2));
        let minutes = |minutes: i64| at(minutes * 60);
        let check = |source: SourceId, now: Timestamp, expected: bool| {
            assert_eq!(recent.try_record(source, now), expected, "{source} {now}");
        };
        check(one, minutes(0), true);
        check(one, minutes(0), false);
        check(one, minutes(15).plus_micros(-1), false);
        check(two, minutes(15).plus_micros(-1), true);
        check(one, minutes(15), true);
        check(two, minutes(15), false);
        check(one, minutes(15), false);
        check(two, minutes(30).plus_micros(-1), true);
        check(one, minutes(30), true);
    }

    #[test]
    fn clones_share_recent_backfills() {
        let recent = RecentBackfills::default();
        assert!(recent.clone().try_record(source_id(1), at(0)));
        assert!(!recent.try_record(source_id(1), at(0)));
    }
}
