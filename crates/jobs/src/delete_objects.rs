//! Removes what belonged to a source that no media names any more.

use kinora_blob::{ObjectKey, Prefix};
use kinora_domain::SourceId;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;

/// Objects a page when pictures are removed.
const PAGE: usize = 1000;

/// Removes the source, its index and its pictures. May run twice.
pub(crate) async fn run(context: &Context, job: &ClaimedJob, source: SourceId) -> Result<(), JobError> {
    remove(context, source).await?;
    let job = job.clone();
    context.store.write(async move |tx| tx.complete_job(&job).await).await?;
    Ok(())
}

/// The index goes first: without it nobody looks for the bytes.
pub(crate) async fn remove(context: &Context, source: SourceId) -> Result<(), JobError> {
    context.packager.forget(source);
    context.blob.delete(ObjectKey::Index(source)).await?;
    context.blob.delete(ObjectKey::Source(source)).await?;
    loop {
        let pictures = context.blob.list(Prefix::PicturesOf(source), None, PAGE).await?;
        for picture in &pictures {
            context.blob.delete(picture.key).await?;
        }
        if pictures.len() < PAGE {
            return Ok(());
        }
    }
}
