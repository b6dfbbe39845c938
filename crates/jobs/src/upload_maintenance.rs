//! Maintenance of uploads without active requests.

use kinora_domain::MediaId;
use kinora_intake::MaintenanceOutcome;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;

/// Completes a fully received upload, ends an expired one, and reschedules itself for any other. May run
/// twice.
pub(crate) async fn run(context: &Context, job: &ClaimedJob, media: MediaId) -> Result<(), JobError> {
    let outcome = context.intake.maintain(media).await?;
    let job = job.clone();
    context
        .store
        .write(async move |tx| match outcome {
            MaintenanceOutcome::Settled => tx.complete_job(&job).await,
            MaintenanceOutcome::Again(at) => tx.defer_job(&job, at, "the upload waits for more").await,
        })
        .await?;
    Ok(())
}
