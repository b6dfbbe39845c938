//! Makes ahead what viewers of a media are likely to ask for: all of its rungs, from one decode.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kinora_domain::{MediaId, MediaState, PresentationId, Resolution, SourceId, Timestamp};
use kinora_index::Index;
use kinora_packager::Error;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::cache::{Cache, WATCHED_LATELY_US};
use crate::error::JobError;

/// How long after it was asked for a fill is not asked for again. What could not be made then is not tried every minute.
const AGAIN_AFTER_US: i64 = 15 * 60 * Timestamp::SECOND;

/// Makes what is missing of the rungs of a ready media, as far as the cache has room for them.
///
/// May run twice, and goes on where an earlier run ended: what is kept is not made again. Its processes give way to all others.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    if let Some(max) = max_resolution(context, media, source).await? {
        let now = context.clock.now();
        let cache = Cache::look(context, now).await?;
        match fill(context, source, max, cache, now).await {
            Ok(()) => {}
            Err(error) => match error.root() {
                Error::Gone => {} // the media was deleted meanwhile
                Error::Busy => return Err(JobError::Away(Box::new(error))),
                _ => return Err(error.into()),
            },
        }
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
        let is_watched = row
            .and_then(|row| row.watched_at)
            .is_some_and(|watched| now.micros_since(watched) <= WATCHED_LATELY_US);
        let whole = u64::from(rung.maxrate / 8).saturating_mul(seconds);
        Wanted { missing: whole.saturating_sub(row.map_or(0, |row| row.bytes)), is_watched, rung }
    });
    let rungs = that_fit(rungs.collect(), cache);
    let told = |progress: kinora_packager::FillProgress| {
        tracing::debug!(source.id = %source, done = progress.done, of = progress.of, "fill goes on");
    };
    context.packager.fill(&packaged, &rungs, told).await
}

/// A rung that may be filled.
struct Wanted<R> {
    rung: R,
    /// Bytes that are missing, at most.
    missing: u64,
    is_watched: bool,
}

/// Those that are watched first, then the others, as far as there is room for the whole of them; in the order they came.
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

/// How long the pictures last, rounded up.
fn seconds(index: &Index) -> u64 {
    let Some((video, _)) = index.video() else { return 0 };
    let end = index.plan.encoded_video.last().map_or(0, |segment| segment.end);
    u64::try_from(end).unwrap_or(0).div_ceil(u64::from(video.timescale.max(1)))
}

/// What the media may be shown in; `None` when it is gone, has another source by now, or has no picture that decodes.
async fn max_resolution(
    context: &Context,
    media: MediaId,
    source: SourceId,
) -> Result<Option<Resolution>, JobError> {
    let Some(media) = context.store.media_by_id(media).await? else { return Ok(None) };
    let is_shown = match &media.state {
        MediaState::Ready { source: current, facts, .. } => *current == source && !facts.does_not_decode,
        _ => false,
    };
    Ok(is_shown.then_some(media.settings.max_resolution))
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
    use super::*;

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
    fn a_fill_is_asked_for_once_in_a_while() {
        let asked = FillsAsked::default();
        let [one, two]: [SourceId; 2] =
            ["019a492c-41f3-7001-8203-040506070801", "019a492c-41f3-7001-8203-040506070802"]
                .map(|id| id.parse().unwrap());
        let at = |us| Timestamp::from_micros(us);
        assert!(asked.is_due(one, at(0)));
        assert!(!asked.is_due(one, at(AGAIN_AFTER_US - 1)));
        assert!(asked.is_due(two, at(AGAIN_AFTER_US - 1)));
        assert!(asked.is_due(one, at(AGAIN_AFTER_US)));
        assert!(!asked.is_due(two, at(AGAIN_AFTER_US)));
    }
}
