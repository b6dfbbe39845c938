//! Reschedules downloads whose source does not respond. Between two runs they use no permit and no memory.

use kinora_domain::Timestamp;
use kinora_fetch::{Pause, RetryBudget};
use kinora_store::{ClaimedJob, DownloadProgress, Tx};

use crate::Context;

/// The remaining attempts and time of a download, after earlier runs of its job.
pub(crate) fn retry_budget(context: &Context, job: &ClaimedJob) -> RetryBudget {
    let Some(progress) = job.progress else { return context.fetcher.full_retry_budget() };
    RetryBudget {
        failed_attempts: usize::try_from(progress.failures).unwrap_or(usize::MAX),
        time_left: progress.time_left,
    }
}

/// The time of the next try of an interrupted download.
pub(crate) fn run_at(pause: &Pause, now: Timestamp) -> Timestamp {
    now.plus_micros(i64::try_from(pause.wait.as_micros()).unwrap_or(i64::MAX))
}

/// The delay in milliseconds, for the log.
pub(crate) fn wait_ms(pause: &Pause) -> u64 {
    u64::try_from(pause.wait.as_millis()).unwrap_or(u64::MAX)
}

/// Reschedules the job after a pause, in fair order among workspaces. The job counts no attempt: the
/// download counts its own.
pub(crate) async fn reschedule(
    context: &Context,
    job: &ClaimedJob,
    run_at: Timestamp,
    progress: DownloadProgress,
) {
    let _permit = context.commits.acquire(job.workspace).await;
    reschedule_at(context, job, run_at, progress).await;
}

/// The progress of an interrupted download, for a later run of its job.
pub(crate) fn progress(pause: &Pause) -> DownloadProgress {
    let failures = u32::try_from(pause.retry_budget.failed_attempts).unwrap_or(u32::MAX);
    DownloadProgress { failures, time_left: pause.retry_budget.time_left }
}

/// Reschedules the job for this time.
pub(crate) async fn reschedule_at(
    context: &Context,
    job: &ClaimedJob,
    run_at: Timestamp,
    progress: DownloadProgress,
) {
    let job = job.clone();
    let later = async move |tx: &mut Tx| tx.reschedule_download(&job, run_at, progress).await;
    if let Err(error) = context.store.write(later).await {
        tracing::warn!(error = %error, "a job could not be requeued; its lease expires");
    }
}
