//! Encodes the sound of a media as a whole, from when it is ready on: at some sixty times its speed, so that few requests come
//! before it.

use kinora_domain::{MediaId, MediaState, SourceId};
use kinora_packager::Error;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::{JobError, chain};

/// Makes what is missing of the encoded sound of a ready media, track by track.
///
/// May run twice, and goes on where an earlier run ended: what is kept is not made again. Its processes give way to all others. A track
/// that cannot be encoded is left out: the first of them was heard before the media became ready.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let is_current =
        |state: &MediaState| matches!(state, MediaState::Ready { source: current, .. } if *current == source);
    if context.store.media_by_id(media).await?.is_some_and(|media| is_current(&media.state)) {
        match encode(context, source).await {
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

async fn encode(context: &Context, source: SourceId) -> Result<(), Error> {
    let packaged = context.packager.packaged(source).await?;
    let tracks = (0..).zip(packaged.index().audio_tracks()).map(|(number, _)| number);
    for number in tracks.filter(|number| packaged.is_sound_encoded(*number)) {
        let told = |progress: kinora_packager::FillProgress| {
            tracing::debug!(source.id = %source, track = number, done = progress.done, of = progress.of, "sound is encoded");
        };
        match context.packager.fill_audio(&packaged, number, told).await {
            Err(error) if error.is_of_run() => {
                tracing::warn!(source.id = %source, track = number, error = %chain(&error), "sound could not be encoded");
            }
            ended => ended?,
        }
    }
    Ok(())
}
