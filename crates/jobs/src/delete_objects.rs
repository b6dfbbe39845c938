//! Removes what belonged to a source that no media names any more.

use kinora_blob::{ObjectKey, Prefix};
use kinora_domain::{PresentationId, RenditionId, SourceId};
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;

/// Objects a page when pictures and segments are removed.
const PAGE: usize = 1000;

/// Removes the source, its index, its pictures and its renditions, or subtitles. May run twice.
pub(crate) async fn run(context: &Context, job: &ClaimedJob, source: SourceId) -> Result<(), JobError> {
    remove(context, source).await?;
    let job = job.clone();
    context.store.write(async move |tx| tx.complete_job(&job).await).await?;
    Ok(())
}

/// The index goes first: without it nobody looks for the bytes.
pub(crate) async fn remove(context: &Context, source: SourceId) -> Result<(), JobError> {
    let presentation = PresentationId::of(source);
    context.packager.forget(source);
    for key in [
        ObjectKey::Index(presentation),
        ObjectKey::Source(source),
        ObjectKey::Normalised(source),
        ObjectKey::Sound(source),
        ObjectKey::Subtitle(source),
    ] {
        context.blob.delete(key).await?;
    }
    remove_all(context, Prefix::PicturesOf(presentation)).await?;
    for row in context.store.renditions_of(presentation).await? {
        remove_rendition(context, row.id).await?;
    }
    Ok(())
}

/// Removes a rendition: its objects, then its row. May run twice.
pub(crate) async fn remove_rendition(context: &Context, id: RenditionId) -> Result<(), JobError> {
    remove_all(context, Prefix::SegmentsOf(id)).await?;
    context.blob.delete(ObjectKey::Init(id)).await?;
    context.store.write(async move |tx| tx.delete_rendition(id).await).await?;
    Ok(())
}

async fn remove_all(context: &Context, prefix: Prefix) -> Result<(), JobError> {
    loop {
        let page = context.blob.list(prefix, None, PAGE).await?;
        for entry in &page {
            context.blob.delete(entry.key).await?;
        }
        if page.len() < PAGE {
            return Ok(());
        }
    }
}
