//! Encodes the sound of a media as a whole, from when it is ready on: at some sixty times its speed, so that few requests come
//! before it.

use kinora_domain::{Media, MediaId, MediaState, PresentationId, SourceId, error_chain};
use kinora_engine::{AUDIO_BITRATE_BPS, AUDIO_FRAME_SAMPLES, AUDIO_SAMPLE_RATE};
use kinora_packager::Error;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::cache::Cache;
use crate::error::JobError;

/// Makes what is missing of the encoded sound of a ready media, or of a sound that was added to it, track by track.
///
/// Where the cache has no room for a track, its segments are made when they are asked for.
///
/// May run twice, and goes on where an earlier run ended: what is kept is not made again. Its processes give way to all others. A track
/// that cannot be encoded is left out: the first of them was heard before the media became ready.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let is_current = |media: &Media| {
        let is_own = matches!(media.state, MediaState::Ready { source: current, .. } if current == source);
        is_own || media.added.iter().any(|track| track.available() == Some(source))
    };
    if context.store.media_by_id(media).await?.is_some_and(|media| is_current(&media)) {
        let cache = Cache::look(context, context.clock.now()).await?;
        match encode(context, source, cache).await {
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

async fn encode(context: &Context, source: SourceId, mut cache: Cache) -> Result<(), Error> {
    let packaged = context.packager.packaged(PresentationId::of(source)).await?;
    let tracks = (0..).zip(&packaged.index().plan.encoded_audio);
    for (number, cuts) in tracks.filter(|(number, _)| packaged.is_sound_encoded(*number)) {
        if !cache.take(bytes(cuts), false) {
            tracing::info!(source.id = %source, track = number, "sound is not encoded ahead: the cache is full");
            continue;
        }
        let told = |progress: kinora_packager::FillProgress| {
            tracing::debug!(source.id = %source, track = number, done = progress.done, of = progress.of, "sound is encoded");
        };
        match context.packager.fill_audio(&packaged, number, told).await {
            Err(error) if error.is_of_run() => {
                tracing::warn!(source.id = %source, track = number, error = %error_chain(&error), "sound could not be encoded");
            }
            ended => ended?,
        }
    }
    Ok(())
}

/// What the sound between these cuts takes.
fn bytes(cuts: &[u64]) -> u64 {
    let samples = cuts.last().copied().unwrap_or(0).saturating_mul(AUDIO_FRAME_SAMPLES);
    samples.div_ceil(u64::from(AUDIO_SAMPLE_RATE)).saturating_mul(u64::from(AUDIO_BITRATE_BPS / 8))
}
