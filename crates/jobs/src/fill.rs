//! Makes ahead what viewers of a media are likely to ask for: all of its rungs, from one decode.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kinora_domain::{MediaId, MediaState, Resolution, SourceId, Timestamp};
use kinora_packager::Error;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;

/// How long after it was asked for a fill is not asked for again. What could not be made then is not tried every minute.
const AGAIN_AFTER_US: i64 = 15 * 60 * Timestamp::SECOND;

/// Makes what is missing of the rungs of a ready media.
///
/// May run twice, and goes on where an earlier run ended: what is kept is not made again. Its processes give way to all others.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    if let Some(max) = max_resolution(context, media, source).await? {
        match fill(context, source, max).await {
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

async fn fill(context: &Context, source: SourceId, max: Resolution) -> Result<(), Error> {
    let packaged = context.packager.packaged(source).await?;
    let told = |progress: kinora_packager::FillProgress| {
        tracing::debug!(source.id = %source, done = progress.done, of = progress.of, "fill goes on");
    };
    context.packager.fill(&packaged, &packaged.rungs(max), told).await
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
