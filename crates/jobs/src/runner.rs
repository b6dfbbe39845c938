//! Claims jobs and runs them concurrently.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use kinora_domain::{Timestamp, error_chain};
use kinora_fair::DueClaimant;
use kinora_store::{ClaimJobs, ClaimedJob, JobKind, JobQueue, WorkspaceLimit};
use tokio::task::{self, AbortHandle, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::claim::{Claim, Progress};
use crate::error::JobError;
use crate::lease::{RENEW_EVERY, lease_until};
use crate::retry::{self, JobOutcome};
use crate::worker_pools::WorkerPool;
use crate::{
    Admission, Context, backfill, blurhash, delete_objects, discard_upload, download, encode_audio,
    fetch_audio_track, fetch_subtitles, ingest_upload, measure_loudness, mp4_files, probe_decode, reindex,
    rendition_maintenance, reschedule, sweep, upload_maintenance,
};

/// Polling interval. Wake-ups are only an optimisation (C-42).
const POLL_EVERY: Duration = Duration::from_millis(500);

/// Runs the jobs of one worker pool until `stop` is cancelled; then releases the claims of running jobs.
pub(crate) async fn run(context: Context, pool: WorkerPool, stop: CancellationToken) {
    let mut tasks: JoinSet<()> = JoinSet::new();
    let mut running_jobs = RunningJobs::new();
    let slots = Admission::with_manual_grants(pool.concurrent_max);
    let mut renewed = Instant::now();
    // Subscribes before the first query, so that no job queued between a query and the wait is missed.
    let mut woken = context.store.job_wake();
    loop {
        // Renews first: after an outage of the database this process must not claim its own jobs as lost
        // ones.
        let is_renewed = renew_if_due(&context, &running_jobs, &mut renewed).await;
        let claimed = match is_renewed && slots.has_free_slot() {
            true => claim(&context, pool.queue, &slots).await,
            false => Vec::new(),
        };
        // There may be more jobs. The next claim follows at once, after lease renewal and finished tasks.
        let has_claimed = !claimed.is_empty();
        for job in claimed {
            let claim = Claim::new(job.clone(), &slots);
            let progress = claim.progress();
            let task = tasks.spawn(run_job(context.clone(), claim));
            running_jobs.insert(task.id(), RunningJob { job, task, progress });
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = tasks.join_next_with_id(), if !tasks.is_empty() => {
                reap(&context, &mut running_jobs, ended).await;
                while let Some(ended) = tasks.try_join_next_with_id() {
                    reap(&context, &mut running_jobs, ended).await;
                }
            }
            () = std::future::ready(()), if has_claimed => {}
            () = woken.notified() => {}
            () = slots.changed() => {}
            () = tokio::time::sleep(POLL_EVERY) => {}
        }
    }
    tasks.shutdown().await;
    // Interrupted jobs restart at the next start without waiting for their lease to expire.
    for RunningJob { job, progress, .. } in running_jobs.values() {
        let now = context.clock.now();
        match progress.get() {
            // A stop gives no download more attempts than it had left.
            Some(progress) => reschedule::reschedule_at(&context, job, now, progress).await,
            None => release_claim(&context, job, now, "the server stopped").await,
        }
    }
}

/// The running jobs.
type RunningJobs = HashMap<task::Id, RunningJob>;

/// A running job, with the handle that aborts it.
struct RunningJob {
    job: ClaimedJob,
    task: AbortHandle,
    progress: Progress,
}

/// Removes a job whose task has ended, and reschedules it if it panicked.
async fn reap(context: &Context, running_jobs: &mut RunningJobs, ended: Result<(task::Id, ()), JoinError>) {
    let id = match &ended {
        Ok((id, ())) => *id,
        Err(error) => error.id(),
    };
    let job = running_jobs.remove(&id);
    if let (Err(error), Some(RunningJob { job, .. })) = (ended, job)
        && error.is_panic()
    {
        handle_error(context, &job, &JobError::Retry("a job panicked".into())).await;
    }
}

/// Renews the leases when due. `false`: the renewal failed, so the ownership of the jobs is uncertain.
async fn renew_if_due(context: &Context, running_jobs: &RunningJobs, renewed: &mut Instant) -> bool {
    if running_jobs.is_empty() {
        *renewed = Instant::now();
        return true;
    }
    if renewed.elapsed() < RENEW_EVERY {
        return true;
    }
    let is_renewed = renew_leases(context, running_jobs).await;
    if is_renewed {
        *renewed = Instant::now();
    }
    is_renewed
}

/// Renews the leases of running jobs, and aborts those whose lease is lost: the media was deleted, or
/// another worker has the job.
async fn renew_leases(context: &Context, running_jobs: &RunningJobs) -> bool {
    let leases: Vec<_> = running_jobs.values().map(|running| running.job.lease()).collect();
    match context.store.renew_jobs(leases, lease_until(context.clock.now())).await {
        Ok(renewed) => {
            let held: HashSet<_> = renewed.into_iter().collect();
            let is_lost =
                |working: &&RunningJob| !held.contains(&working.job.lease()) && !working.task.is_finished();
            for RunningJob { job, task, .. } in running_jobs.values().filter(is_lost) {
                tracing::info!(job.kind = job.kind.name(), job.id = %job.id, "job stopped: its lease was lost");
                task.abort();
            }
            true
        }
        Err(error) => {
            tracing::warn!(error = %error, "leases could not be renewed");
            false
        }
    }
}

/// Claims jobs for the free permits, shared among the workspaces with due jobs. A workspace may have fewer
/// jobs than its share: call it until it returns none.
async fn claim(context: &Context, queue: JobQueue, slots: &Admission) -> Vec<ClaimedJob> {
    let now = context.clock.now();
    let claimed = async {
        let due = context.store.job_workspaces_due(queue, now).await?;
        let due: Vec<_> =
            due.iter().map(|due| DueClaimant { claimant: due.workspace, rank: due.priority as u8 }).collect();
        let limits: Vec<_> = slots
            .admit(&due)
            .into_iter()
            .map(|share| WorkspaceLimit {
                workspace: share.claimant,
                limit: u32::try_from(share.slots).unwrap_or(u32::MAX),
            })
            .collect();
        if limits.is_empty() {
            return Ok(Vec::new());
        }
        let claim = ClaimJobs {
            owner: context.worker,
            queue,
            workspace_limits: limits,
            now,
            lease_until: lease_until(now),
        };
        context.store.claim_jobs(claim).await
    };
    claimed.await.unwrap_or_else(|error: kinora_store::Error| {
        tracing::warn!(error = %error, "jobs could not be claimed");
        Vec::new()
    })
}

/// Runs one job to its end, or reschedules it.
async fn run_job(context: Context, job: Claim) {
    let started = Instant::now();
    let result = match &job.kind {
        JobKind::Download { media } => download::run(&context, &job, *media).await,
        JobKind::FetchSubtitles { media, track, source } => {
            let fetch = fetch_subtitles::TrackFetch { media: *media, track: *track, source: *source };
            fetch_subtitles::run(&context, &job, fetch).await
        }
        JobKind::FetchAudio { media, track } => fetch_audio_track::run(&context, &job, *media, *track).await,
        JobKind::IngestUpload { media } => ingest_upload::run(&context, &job, *media).await,
        JobKind::CheckUpload { media } => upload_maintenance::run(&context, &job, *media).await,
        JobKind::DiscardUpload { media } => discard_upload::run(&context, &job, *media).await,
        JobKind::DeleteObjects { source } => delete_objects::run(&context, &job, *source).await,
        JobKind::ProbeDecode { media, source } => probe_decode::run(&context, &job, *media, *source).await,
        JobKind::BlurHash { media, source } => blurhash::run(&context, &job, *media, *source).await,
        JobKind::EncodeAudio { media, source } => encode_audio::run(&context, &job, *media, *source).await,
        JobKind::Backfill { media, source } => backfill::run(&context, &job, *media, *source).await,
        JobKind::PrepareMp4 { media, source } => mp4_files::prepare(&context, &job, *media, *source).await,
        JobKind::EncodeMp4 { media, source } => mp4_files::encode(&context, &job, *media, *source).await,
        JobKind::RefreshMp4 { media, source } => mp4_files::refresh(&context, &job, *media, *source).await,
        JobKind::MeasureLoudness { media, source } => {
            measure_loudness::run(&context, &job, *media, *source).await
        }
        JobKind::Reindex { media, source } => reindex::run(&context, &job, *media, *source).await,
        JobKind::MaintainRenditions => rendition_maintenance::run(&context, &job).await,
        JobKind::Sweep => sweep::run(&context, &job).await,
    };
    match &result {
        Err(JobError::DiskFull) => context.disk_full_jobs.add(job.id),
        _ => context.disk_full_jobs.remove(job.id),
    }
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    match result {
        Ok(()) => tracing::debug!(job.kind = job.kind.name(), job.id = %job.id, duration_ms, "job done"),
        Err(JobError::LeaseLost) => {
            tracing::info!(job.kind = job.kind.name(), job.id = %job.id, duration_ms, "job was taken over by another worker");
        }
        Err(error) => handle_error(&context, &job, &error).await,
    }
}

/// Applies the retry policy to a job whose run ended with an error.
async fn handle_error(context: &Context, job: &ClaimedJob, error: &JobError) {
    let cause = error_chain(error);
    log_error(job, error, &cause);
    match retry::after_error(job, error, context.clock.now()) {
        JobOutcome::LeaseLost => {}
        JobOutcome::Defer { run_at } => postpone(context, job, run_at, &cause).await,
        JobOutcome::Continue { run_at, progress } => {
            reschedule::reschedule(context, job, run_at, progress).await
        }
        JobOutcome::Retry { run_at } => release_claim(context, job, run_at, &cause).await,
        JobOutcome::Fail => fail(context, job, cause).await,
    }
}

fn log_error(job: &ClaimedJob, error: &JobError, cause: &str) {
    let (kind, id) = (job.kind.name(), job.id);
    match error {
        JobError::LeaseLost => {}
        JobError::DiskFull => tracing::warn!(job.kind = kind, job.id = %id, "job waits: the disk is full"),
        JobError::SourceRetry(pause) => {
            let (failures, wait_ms) = (pause.retry_budget.failed_attempts, reschedule::wait_ms(pause));
            tracing::info!(job.kind = kind, job.id = %id, failures, wait_ms, "the source is retried later");
        }
        JobError::Unavailable(_) => {
            tracing::warn!(job.kind = kind, job.id = %id, error = cause, "job waits: a component does not respond");
        }
        JobError::Fatal(_) | JobError::Retry(_) => {
            tracing::warn!(job.kind = kind, job.id = %id, job.attempt = job.attempt, error = cause, "job failed");
        }
    }
}

/// Fails a job that has used up its attempts, together with its media or track.
async fn fail(context: &Context, job: &ClaimedJob, cause: String) {
    let ended = match &job.kind {
        JobKind::Download { media } => download::fail_exhausted(context, job, *media).await,
        JobKind::FetchSubtitles { media, track, source } => {
            let fetch = fetch_subtitles::TrackFetch { media: *media, track: *track, source: *source };
            fetch_subtitles::fail_exhausted(context, job, fetch).await
        }
        JobKind::FetchAudio { media, track } => {
            fetch_audio_track::fail_exhausted(context, job, *media, *track).await
        }
        JobKind::IngestUpload { media } => ingest_upload::fail_exhausted(context, job, *media).await,
        JobKind::MeasureLoudness { media, source } => {
            measure_loudness::fail_exhausted(context, job, *media, *source, &cause).await
        }
        _ => {
            let claimed = job.clone();
            context
                .store
                .write(async move |tx| tx.fail_job(&claimed, &cause).await)
                .await
                .map_err(JobError::from)
        }
    };
    if let Err(error) = ended {
        // The lease expires and another attempt ends it.
        tracing::error!(job.kind = job.kind.name(), job.id = %job.id, error = error_chain(&error), "a job could not be ended");
    }
}

async fn release_claim(context: &Context, job: &ClaimedJob, run_at: Timestamp, reason: &str) {
    let (job, note) = (job.clone(), reason.to_owned());
    if let Err(error) = context.store.write(async move |tx| tx.retry_job(&job, run_at, &note).await).await {
        tracing::warn!(error = %error, "a job could not be requeued; its lease expires");
    }
}

/// Reschedules a job that could not be tried: no attempt is counted.
async fn postpone(context: &Context, job: &ClaimedJob, run_at: Timestamp, reason: &str) {
    let (job, note) = (job.clone(), reason.to_owned());
    if let Err(error) = context.store.write(async move |tx| tx.defer_job(&job, run_at, &note).await).await {
        tracing::warn!(error = %error, "a job could not be requeued; its lease expires");
    }
}
