//! Reschedules downloads whose source does not answer. Between two runs they hold no place and no memory.

use kinora_domain::Timestamp;
use kinora_fetch::{Pause, Tries};
use kinora_store::{ClaimedJob, DownloadProgress, Tx};

use crate::Context;

/// The remaining attempts and time of a download, after earlier runs of its job.
pub(crate) fn tries(context: &Context, job: &ClaimedJob) -> Tries {
    let Some(progress) = job.progress else { return context.fetcher.all_tries() };
    Tries { failures: usize::try_from(progress.failures).unwrap_or(usize::MAX), left: progress.left }
}

/// When a download that was cut is tried again.
pub(crate) fn run_at(pause: &Pause, now: Timestamp) -> Timestamp {
    now.plus_micros(i64::try_from(pause.wait.as_micros()).unwrap_or(i64::MAX))
}

/// Milliseconds until then, for the log.
pub(crate) fn wait_ms(pause: &Pause) -> u64 {
    u64::try_from(pause.wait.as_millis()).unwrap_or(u64::MAX)
}

/// Reschedules the job after a pause, in the turn of its workspace. The job counts no attempt: the download
/// counts its own.
pub(crate) async fn give_back(
    context: &Context,
    job: &ClaimedJob,
    run_at: Timestamp,
    progress: DownloadProgress,
) {
    let _place = context.commits.acquire(job.workspace).await;
    give_back_at(context, job, run_at, progress).await;
}

/// What a cut download leaves for a later run of its job.
pub(crate) fn progress(pause: &Pause) -> DownloadProgress {
    let failures = u32::try_from(pause.tries.failures).unwrap_or(u32::MAX);
    DownloadProgress { failures, left: pause.tries.left }
}

/// Reschedules the job for this time.
pub(crate) async fn give_back_at(
    context: &Context,
    job: &ClaimedJob,
    run_at: Timestamp,
    progress: DownloadProgress,
) {
    let job = job.clone();
    let later = async move |tx: &mut Tx| tx.continue_job_later(&job, run_at, progress).await;
    if let Err(error) = context.store.write(later).await {
        tracing::warn!(error = %error, "a job could not be put back; its lease runs out");
    }
}
