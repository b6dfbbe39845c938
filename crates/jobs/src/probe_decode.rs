//! Checks whether a ready media really decodes. It never delays the ready event (M-2).

use kinora_domain::{Media, MediaId, MediaState, PresentationId, SourceId};
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;

/// Prepares the first segment, then decodes the first GOP. If no frame decodes, withdraws the copy from new
/// manifests and emits an event.
///
/// May run twice: a copy is withdrawn once, and only from the source that was probed.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let is_current =
        |state: &MediaState| matches!(state, MediaState::Ready { source: current, .. } if *current == source);
    let found = context.store.media_by_id(media).await?.filter(|media| is_current(&media.state));
    if let Some(media) = found.as_ref().filter(|_| context.prepares_start) {
        prepare_start(context, media, source).await;
    }
    let decodes = match found {
        Some(_) => decodes(context, source).await?,
        None => true, // deleted or replaced: nothing to say
    };
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            let Some(media) = tx.media_by_id(media).await?.filter(|_| !decodes) else { return Ok(()) };
            // In another state the result is about a source that is no longer current.
            let Ok((media, event)) = media.withdraw_copy(source, now) else { return Ok(()) };
            tx.save_media(&media).await?;
            tx.push_event(&event).await?;
            Ok::<_, JobError>(())
        })
        .await
}

/// Encodes the segment that the first viewer would wait for, before the probe uses a core. An error is only
/// logged: the request of a viewer encodes the segment too.
async fn prepare_start(context: &Context, media: &Media, source: SourceId) {
    let prepared = async {
        let packaged = context.packager.packaged(PresentationId::of(source)).await?;
        context.packager.prepare_start(&packaged, media.settings.max_resolution).await
    };
    if let Err(error) = prepared.await {
        tracing::debug!(media.id = %media.id, error = %error, "the first segment could not be prepared");
    }
}

async fn decodes(context: &Context, source: SourceId) -> Result<bool, JobError> {
    let packaged = match context.packager.packaged(PresentationId::of(source)).await {
        Ok(packaged) => packaged,
        Err(error) if matches!(error.root(), kinora_packager::Error::Gone) => return Ok(true),
        Err(error) => return Err(error.into()),
    };
    let frames = context.packager.decode_first_gop(&packaged).await?;
    Ok(frames != Some(0))
}
