//! Makes ahead what viewers of a media are likely to ask for: all of its rungs, from one decode.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kinora_domain::{MediaId, MediaState, PresentationId, Resolution, SourceId, Timestamp};
use kinora_index::Index;
use kinora_packager::Error;
use kinora_store::{ClaimedJob, RenditionRow};

use crate::Context;
use crate::cache::{Cache, WATCHED_LATELY_US};
use crate::error::{JobError, of_encode_ahead};

/// How long after it was asked for a fill is not asked for again. What could not be made then is not tried
/// every minute.
const AGAIN_AFTER_US: i64 = 15 * 60 * Timestamp::SECOND;

/// Makes what is missing of the rungs of a ready media, as far as the cache has room for them.
///
/// May run twice, and goes on where an earlier run ended: what is kept is not made again. Its processes give
/// way to all others.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    if let Some(max) = max_resolution(context, media, source).await? {
        let now = context.clock.now();
        let cache = Cache::look(context, now).await?;
        of_encode_ahead(fill(context, source, max, cache, now).await)?;
    }
    let job = job.clone();
    context.store.write(async move |tx| tx.complete_job(&job).await).await?;
    Ok(())
}

async fn fill(
    context: &Context,
    source: SourceId,
    max: Resolution,
    cache: Cache,
    now: Timestamp,
) -> Result<(), Error> {
    let packaged = context.packager.packaged(PresentationId::of(source)).await?;
    let rows = context.store.renditions_of(PresentationId::of(source)).await?;
    let seconds = seconds(packaged.index());
    let rungs = packaged.rungs(max).into_iter().map(|rung| {
        let row = rows.iter().find(|row| row.name == rung.name.to_string());
        let maxrate = rung.maxrate;
        Wanted::new(rung, maxrate, seconds, row, now)
    });
    let rungs = that_fit(rungs.collect(), cache);
    let told = |progress: kinora_packager::FillProgress| {
        tracing::debug!(source.id = %source, done = progress.done, of = progress.of, "fill goes on");
    };
    context.packager.fill(&packaged, &rungs, told).await
}

/// A rung that may be filled.
#[derive(Debug, PartialEq, Eq)]
struct Wanted<R> {
    rung: R,
    /// Bytes that are missing, at most.
    missing: u64,
    is_watched: bool,
}

impl<R> Wanted<R> {
    /// `maxrate` is in bits a second, `seconds` the length of the video, and `row` what is stored of the
    /// rung so far.
    fn new(rung: R, maxrate: u32, seconds: u64, row: Option<&RenditionRow>, now: Timestamp) -> Self {
        let whole = u64::from(maxrate / 8).saturating_mul(seconds);
        Self {
            rung,
            missing: whole.saturating_sub(row.map_or(0, |row| row.bytes)),
            is_watched: row
                .and_then(|row| row.watched_at)
                .is_some_and(|watched| now.micros_since(watched) <= WATCHED_LATELY_US),
        }
    }
}

/// Those that are watched first, then the others, as far as there is room for the whole of them; in the order
/// they came.
fn that_fit<R>(wanted: Vec<Wanted<R>>, mut cache: Cache) -> Vec<R> {
    let mut is_filled = vec![false; wanted.len()];
    for is_watched in [true, false] {
        for (is_filled, wanted) in is_filled.iter_mut().zip(&wanted) {
            if wanted.is_watched == is_watched {
                *is_filled = cache.take(wanted.missing, is_watched);
            }
        }
    }
    let filled = wanted.into_iter().zip(is_filled).filter(|(_, is_filled)| *is_filled);
    filled.map(|(wanted, _)| wanted.rung).collect()
}

/// How long the video lasts, rounded up.
fn seconds(index: &Index) -> u64 {
    let Some((video, _)) = index.video() else { return 0 };
    let end = index.plan.encoded_video.last().map_or(0, |segment| segment.end);
    whole_seconds(end, video.timescale)
}

/// Ticks in seconds, rounded up.
fn whole_seconds(ticks: i64, timescale: u32) -> u64 {
    u64::try_from(ticks).unwrap_or(0).div_ceil(u64::from(timescale.max(1)))
}

/// The largest resolution that players are offered of the media; `None` when there is nothing to fill.
async fn max_resolution(
    context: &Context,
    media: MediaId,
    source: SourceId,
) -> Result<Option<Resolution>, JobError> {
    let media = context.store.media_by_id(media).await?;
    Ok(media.filter(|media| is_filled(&media.state, source)).map(|media| media.settings.max_resolution))
}

/// Whether the rungs of this source are filled: the media is ready, still has that source, and its video
/// decodes.
fn is_filled(state: &MediaState, source: SourceId) -> bool {
    match state {
        MediaState::Ready { source: current, facts, .. } => *current == source && !facts.does_not_decode,
        MediaState::Created | MediaState::Downloading { .. } | MediaState::Failed { .. } => false,
    }
}

/// Which fills were asked for lately by this process; clones share it.
#[derive(Debug, Clone, Default)]
pub struct FillsAsked(Arc<Mutex<HashMap<SourceId, Timestamp>>>);

impl FillsAsked {
    /// Whether a fill of this source is to be asked for now; then it counts as asked for.
    pub(crate) fn is_due(&self, source: SourceId, now: Timestamp) -> bool {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|_, at| now.micros_since(*at) < AGAIN_AFTER_US);
        if asked.contains_key(&source) {
            return false;
        }
        asked.insert(source, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use kinora_domain::{Failure, FailureCode, Media};

    use super::*;
    use crate::fixture::{at, created, ready, rendition_row, source_id};

    #[test]
    fn what_is_watched_is_filled_first_and_the_rest_where_there_is_room() {
        let check = |allowed: Option<u64>, expected: &[&str]| {
            let wanted = [("720p", 500, false), ("480p", 300, true), ("240p", 100, false)];
            let wanted =
                wanted.map(|(rung, missing, is_watched)| Wanted { rung, missing, is_watched }).into();
            let filled = that_fit(wanted, Cache::new(0, 0, allowed, None));
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
                let wanted = Wanted::new("720p", maxrate, seconds, row.as_ref(), at(1000));
                let (missing, is_watched) = expected;
                assert_eq!(
                    wanted,
                    Wanted { rung: "720p", missing, is_watched },
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
    fn only_the_current_source_of_a_ready_media_is_filled() {
        let check = |media: Media, expected: bool| {
            assert_eq!(is_filled(&media.state, source_id(5)), expected, "{:?}", media.state);
        };
        check(created(), false);
        check(created().start_download(source_id(5), at(2)).unwrap(), false);
        check(created().fail(Failure::new(FailureCode::NotMedia, "no media"), at(2)).unwrap().0, false);
        check(ready(source_id(5)), true);
        check(ready(source_id(6)), false);
        check(ready(source_id(5)).withdraw_copy(source_id(5), at(4)).unwrap().0, false);
    }

    #[test]
    fn fill_is_requested_again_after_15_minutes_for_each_source() {
        let asked = FillsAsked::default();
        let (one, two) = (source_id(1), source_id(2));
        let minutes = |minutes: i64| at(minutes * 60);
        let check = |source: SourceId, now: Timestamp, expected: bool| {
            assert_eq!(asked.is_due(source, now), expected, "{source} {now}");
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
    fn clones_share_which_fills_were_requested() {
        let asked = FillsAsked::default();
        assert!(asked.clone().is_due(source_id(1), at(0)));
        assert!(!asked.is_due(source_id(1), at(0)));
    }
}
