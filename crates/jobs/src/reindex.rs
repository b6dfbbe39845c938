//! Makes the index of a ready media anew where an unreleased version wrote it (decision 0125).

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{Media, MediaFacts, MediaId, PresentationId, SourceId};
use kinora_formats::Scanned;
use kinora_index::Index;
use kinora_intake::{Whole, of_index};
use kinora_store::ClaimedJob;

use crate::Context;
use crate::claim::Claim;
use crate::error::JobError;
use crate::ingest::remux::{self, Foreign};
use crate::ingest::scanned_again;

/// Bytes of a stored index that name its layout.
const HEAD_LEN: u64 = 12;

/// Reads the source again, stores its index, and saves the facts of the media with `video.media.updated`
/// where they changed. Does nothing where the stored index is read as it is.
///
/// May run twice: an index that an earlier run removed is made as one of an unreleased version is.
/// Playback of such a media fails until the job is done.
pub(crate) async fn run(
    context: &Context,
    job: &Claim,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let media = context.store.media_by_id(media).await?.filter(|media| media.source() == Some(source));
    let facts = match media {
        Some(media) if !is_read(context, source).await? => Some(remade(context, job, &media, source).await?),
        _ => None,
    };
    let (job, now) = (job.claimed(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            let Some((id, facts)) = &facts else { return Ok(()) };
            let Some(media) = tx.media_by_id(*id).await? else { return Ok(()) };
            // In another state the index is of a source that is no longer played.
            let Ok(Some((media, event))) = media.reindex(source, facts.clone(), now) else { return Ok(()) };
            tx.save_media(&media).await?;
            tx.push_event(&event).await?;
            Ok::<_, JobError>(())
        })
        .await
}

/// Whether an index is stored that is read as it is.
async fn is_read(context: &Context, source: SourceId) -> Result<bool, JobError> {
    let Some(reader) = context.blob.reader(ObjectKey::Index(PresentationId::of(source))).await? else {
        return Ok(false);
    };
    let head = reader.read_at(0..HEAD_LEN.min(reader.len())).await?;
    Ok(!Index::is_unreleased(&head))
}

async fn remade(
    context: &Context,
    job: &ClaimedJob,
    media: &Media,
    source: SourceId,
) -> Result<(MediaId, MediaFacts), JobError> {
    let Whole { scanned, turn } = scanned_again(context, source, media.workspace).await?;
    let (index, _turn) = match scanned {
        Scanned::Index(index) => (index, turn),
        Scanned::Foreign { container, len, sha256, refusal, facts } => {
            drop(turn);
            context.blob.delete(ObjectKey::Normalised(source)).await?;
            let workspace = Some(media.workspace);
            let foreign = Foreign { source, workspace, container, len, sha256, refusal, facts };
            let stored = remux::normalise(context, job, &foreign).await?;
            stored.load_in_turn(&context.scans, workspace).await?
        }
    };
    let key = ObjectKey::Index(PresentationId::of(source));
    context.blob.delete(key).await?;
    context.blob.put_once(key, Bytes::from(index.to_bytes())).await?;
    tracing::info!(media.id = %media.id, source.id = %source, "made the index of a media anew");
    Ok((media.id, of_index(&index, media.settings.max_resolution, context.clock.now(), &*context.random)))
}
