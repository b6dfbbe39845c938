//! Deletes the temporary objects of an upload that has ended, and also its source if no media was made of
//! it.

use kinora_domain::MediaId;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::delete_objects;
use crate::error::JobError;

/// Deletes pieces, parts and checkpoints; for an abandoned upload, everything. May run twice.
pub(crate) async fn run(context: &Context, job: &ClaimedJob, media: MediaId) -> Result<(), JobError> {
    let upload = context.store.upload_by_id(media).await?;
    if let Some(upload) = upload.filter(|upload| !upload.holds_source()) {
        let source = upload.source;
        let multipart_state = context.store.upload_multipart(media).await?;
        context.blob.discard_growing(source, multipart_state.multipart_id).await?;
        context.blob.delete_checkpoints(source).await?;
        delete_objects::remove_unused(context, source).await?;
    }
    let job = job.clone();
    context
        .store
        .write(async move |tx| {
            tx.delete_upload_multipart(media).await?;
            tx.complete_job(&job).await
        })
        .await?;
    Ok(())
}
