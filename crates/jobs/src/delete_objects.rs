//! Deletes the objects of a source that no media refers to any more. Bytes and index of a source are kept
//! until no edited media uses them (C-199, D-0131).

use kinora_blob::{ObjectKey, Prefix};
use kinora_domain::{PresentationId, RenditionId, SourceId};
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;

/// Page size, in objects, for deleting images and segments.
const PAGE: usize = 1000;

/// Deletes the source, its index, its images and its renditions, or subtitles. May run twice.
pub(crate) async fn run(context: &Context, job: &ClaimedJob, source: SourceId) -> Result<(), JobError> {
    remove_unused(context, source).await?;
    let job = job.clone();
    context.store.write(async move |tx| tx.complete_job(&job).await).await?;
    Ok(())
}

/// Deletes the objects of a source that no media or track uses. May run twice.
///
/// Only a media or track that uses a source can pass it on, in the commit that registers the other media. So
/// a source without a track and without a row in `source_use` never gets one. Tracks are read first: one may
/// be deleted right after it was passed on.
pub(crate) async fn remove_unused(context: &Context, source: SourceId) -> Result<(), JobError> {
    if context.store.media_of_source(source).await?.is_some()
        || context.store.is_source_of_track(source).await?
    {
        return Ok(());
    }
    if context.store.is_used_source(source).await? {
        return remove_derived(context, PresentationId::of(source)).await;
    }
    remove(context, source).await
}

/// Deletes the index first: without it no reader looks for the bytes.
pub(crate) async fn remove(context: &Context, source: SourceId) -> Result<(), JobError> {
    let presentation = PresentationId::of(source);
    context.packager.evict_source(source);
    for key in [
        ObjectKey::Index(presentation),
        ObjectKey::Source(source),
        ObjectKey::Normalised(source),
        ObjectKey::Audio(source),
        ObjectKey::Subtitle(source),
    ] {
        context.blob.delete(key).await?;
    }
    remove_derived(context, presentation).await
}

/// Deletes the images and renditions of a presentation.
async fn remove_derived(context: &Context, presentation: PresentationId) -> Result<(), JobError> {
    remove_all(context, Prefix::ImagesOf(presentation)).await?;
    for row in context.store.renditions_of(presentation).await? {
        remove_rendition(context, row.id).await?;
    }
    Ok(())
}

/// Deletes a rendition: its objects, then its row. May run twice.
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
