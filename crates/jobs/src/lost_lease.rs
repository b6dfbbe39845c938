//! Cleans up after an attempt that lost its lease: another worker has the job, or the row that would refer
//! to its objects is gone.

use kinora_domain::SourceId;
use kinora_store::{ClaimedJob, JobKind, NewJob};

use crate::Context;
use crate::error::JobError;

/// Returns the result of an attempt. After a lost lease its objects are deleted, unless a media or track
/// refers to them after all.
///
/// A job that deletes them may already be past the last object of this attempt. So another one is always
/// queued. May run twice.
pub(crate) async fn clean_up<T>(
    context: &Context,
    job: &ClaimedJob,
    source: SourceId,
    ended: Result<T, JobError>,
) -> Result<T, JobError> {
    if let Err(JobError::LeaseLost) = ended {
        enqueue_removal(context, job, vec![source]).await?;
    }
    ended
}

/// Queues the removal of the objects of these sources, except of those that a media or track refers to. May
/// run twice.
pub(crate) async fn enqueue_removal(
    context: &Context,
    job: &ClaimedJob,
    sources: Vec<SourceId>,
) -> Result<(), JobError> {
    let (workspace, now) = (job.workspace, context.clock.now());
    context
        .store
        .write(async move |tx| {
            for source in &sources {
                let source = *source;
                if tx.media_of_source(source).await?.is_none() && !tx.is_source_of_track(source).await? {
                    let kind = JobKind::DeleteObjects { source };
                    tx.enqueue(NewJob::due_now(kind, workspace, now)).await?;
                }
            }
            Ok::<_, JobError>(())
        })
        .await
}
