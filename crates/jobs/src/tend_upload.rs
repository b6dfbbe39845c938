//! Looks after uploads that nobody sends to.

use kinora_domain::MediaId;
use kinora_intake::Tended;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;

/// Completes an upload whose file is whole, ends one whose time is over, and comes again for any other. May
/// run twice.
pub(crate) async fn run(context: &Context, job: &ClaimedJob, media: MediaId) -> Result<(), JobError> {
    let tended = context.intake.tend(media).await?;
    let job = job.clone();
    context
        .store
        .write(async move |tx| match tended {
            Tended::Settled => tx.complete_job(&job).await,
            Tended::Again(at) => tx.defer_job(&job, at, "the upload waits for more").await,
        })
        .await?;
    Ok(())
}
