//! Claims jobs and runs them, many at once.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use kinora_domain::{Timestamp, error_chain};
use kinora_fair::Due;
use kinora_store::{ClaimJobs, ClaimedJob, JobKind, JobQueue, JobShare};
use tokio::task::{self, AbortHandle, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::claim::{Claim, Progress};
use crate::error::JobError;
use crate::lanes::Lane;
use crate::lease::{RENEW_EVERY, lease_until};
use crate::retry::{self, Next};
use crate::{
    Admission, Context, delete_objects, discard_upload, download, encode_audio, fetch_sound, fetch_track,
    files, fill, hash_picture, ingest_upload, later, probe_decode, reindex, sweep, tend, tend_upload,
};

/// Nothing depends on being woken: rows are looked at this often anyway (C-42).
const POLL_EVERY: Duration = Duration::from_millis(500);

/// Runs the jobs of one lane until `stop` is cancelled; then gives back the claims of those that are still at
/// work.
pub(crate) async fn run(context: Context, lane: Lane, stop: CancellationToken) {
    let mut running: JoinSet<()> = JoinSet::new();
    let mut claims = Claims::new();
    let places = Admission::led(lane.concurrent_max);
    let mut renewed = Instant::now();
    // Taken before the first look: a job that comes in between a look and the wait is not missed.
    let mut woken = context.store.jobs_woken();
    loop {
        // First: after the database was away this process must not take its own jobs for lost ones.
        let is_sure = renew_if_due(&context, &claims, &mut renewed).await;
        let claimed = match is_sure && places.has_free() {
            true => claim(&context, lane.queue, &places).await,
            false => Vec::new(),
        };
        // There may be more: then it is claimed again at once, but not before leases are renewed and ends are
        // seen.
        let has_claimed = !claimed.is_empty();
        for job in claimed {
            let claim = Claim::new(job.clone(), &places);
            let progress = claim.progress();
            let task = running.spawn(settle(context.clone(), claim));
            claims.insert(task.id(), Working { job, task, progress });
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = running.join_next_with_id(), if !running.is_empty() => {
                reap(&context, &mut claims, ended).await;
                while let Some(ended) = running.try_join_next_with_id() {
                    reap(&context, &mut claims, ended).await;
                }
            }
            () = std::future::ready(()), if has_claimed => {}
            () = woken.notified() => {}
            () = places.changed() => {}
            () = tokio::time::sleep(POLL_EVERY) => {}
        }
    }
    running.shutdown().await;
    // What was broken off begins again at the next start, at once: its claim is not left to run out.
    for Working { job, progress, .. } in claims.values() {
        let now = context.clock.now();
        match progress.get() {
            // A stop gives no download more attempts than it had left.
            Some(progress) => later::give_back_at(&context, job, now, progress).await,
            None => give_back(&context, job, now, "the server stopped").await,
        }
    }
}

/// The jobs at work.
type Claims = HashMap<task::Id, Working>;

/// A job at work, and how to stop it.
struct Working {
    job: ClaimedJob,
    task: AbortHandle,
    progress: Progress,
}

/// Forgets a job whose task has ended, and lets it run again if it panicked.
async fn reap(context: &Context, claims: &mut Claims, ended: Result<(task::Id, ()), JoinError>) {
    let id = match &ended {
        Ok((id, ())) => *id,
        Err(error) => error.id(),
    };
    let job = claims.remove(&id);
    if let (Err(error), Some(Working { job, .. })) = (ended, job)
        && error.is_panic()
    {
        put_back(context, &job, &JobError::Retry("a job panicked".into())).await;
    }
}

/// Renews the leases when it is time. `false`: it is time and could not be done, so nobody knows whose the
/// jobs are.
async fn renew_if_due(context: &Context, claims: &Claims, renewed: &mut Instant) -> bool {
    if claims.is_empty() {
        *renewed = Instant::now();
        return true;
    }
    if renewed.elapsed() < RENEW_EVERY {
        return true;
    }
    let is_sure = renew_leases(context, claims).await;
    if is_sure {
        *renewed = Instant::now();
    }
    is_sure
}

/// Holds on to what is worked on, and stops the work whose lease is lost: its media was deleted, or another
/// worker has it.
async fn renew_leases(context: &Context, claims: &Claims) -> bool {
    let leases: Vec<_> = claims.values().map(|working| working.job.lease()).collect();
    match context.store.renew_jobs(leases, lease_until(context.clock.now())).await {
        Ok(held) => {
            let held: HashSet<_> = held.into_iter().collect();
            let is_lost =
                |working: &&Working| !held.contains(&working.job.lease()) && !working.task.is_finished();
            for Working { job, task, .. } in claims.values().filter(is_lost) {
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

/// Claims jobs for the free places, shared out among the workspaces that have some. A workspace may have had
/// less than its share: ask until nothing comes.
async fn claim(context: &Context, queue: JobQueue, places: &Admission) -> Vec<ClaimedJob> {
    let now = context.clock.now();
    let claimed = async {
        let due = context.store.job_workspaces_due(queue, now).await?;
        let due: Vec<_> =
            due.iter().map(|due| Due { claimant: due.workspace, rank: due.priority as u8 }).collect();
        let shares: Vec<_> = places
            .admit(&due)
            .into_iter()
            .map(|share| JobShare {
                workspace: share.claimant,
                limit: u32::try_from(share.places).unwrap_or(u32::MAX),
            })
            .collect();
        if shares.is_empty() {
            return Ok(Vec::new());
        }
        let claim = ClaimJobs { owner: context.worker, queue, shares, now, lease_until: lease_until(now) };
        context.store.claim_jobs(claim).await
    };
    claimed.await.unwrap_or_else(|error: kinora_store::Error| {
        tracing::warn!(error = %error, "jobs could not be claimed");
        Vec::new()
    })
}

/// Runs one job to its end, or puts it back.
async fn settle(context: Context, job: Claim) {
    let started = Instant::now();
    let result = match &job.kind {
        JobKind::Download { media } => download::run(&context, &job, *media).await,
        JobKind::FetchTrack { media, track, source } => {
            let wanted = fetch_track::Wanted { media: *media, track: *track, source: *source };
            fetch_track::run(&context, &job, wanted).await
        }
        JobKind::FetchSound { media, track } => fetch_sound::run(&context, &job, *media, *track).await,
        JobKind::IngestUpload { media } => ingest_upload::run(&context, &job, *media).await,
        JobKind::TendUpload { media } => tend_upload::run(&context, &job, *media).await,
        JobKind::DiscardUpload { media } => discard_upload::run(&context, &job, *media).await,
        JobKind::DeleteObjects { source } => delete_objects::run(&context, &job, *source).await,
        JobKind::ProbeDecode { media, source } => probe_decode::run(&context, &job, *media, *source).await,
        JobKind::HashPicture { media, source } => hash_picture::run(&context, &job, *media, *source).await,
        JobKind::EncodeAudio { media, source } => encode_audio::run(&context, &job, *media, *source).await,
        JobKind::Fill { media, source } => fill::run(&context, &job, *media, *source).await,
        JobKind::PrepareFiles { media, source } => files::prepare(&context, &job, *media, *source).await,
        JobKind::EncodeFiles { media, source } => files::encode(&context, &job, *media, *source).await,
        JobKind::Reindex { media, source } => reindex::run(&context, &job, *media, *source).await,
        JobKind::TendRenditions => tend::run(&context, &job).await,
        JobKind::Sweep => sweep::run(&context, &job).await,
    };
    match &result {
        Err(JobError::Full) => context.room.note_wanted(job.id),
        _ => context.room.note_ended(job.id),
    }
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    match result {
        Ok(()) => tracing::debug!(job.kind = job.kind.name(), job.id = %job.id, duration_ms, "job done"),
        Err(JobError::LeaseLost) => {
            tracing::info!(job.kind = job.kind.name(), job.id = %job.id, duration_ms, "job was taken over by another worker");
        }
        Err(error) => put_back(&context, &job, &error).await,
    }
}

/// Carries out what happens to a job whose run ended with an error.
async fn put_back(context: &Context, job: &ClaimedJob, error: &JobError) {
    let cause = error_chain(error);
    log_error(job, error, &cause);
    match retry::after_error(job, error, context.clock.now()) {
        Next::LeaseLost => {}
        Next::Defer { run_at } => wait(context, job, run_at, &cause).await,
        Next::Continue { run_at, progress } => later::give_back(context, job, run_at, progress).await,
        Next::Retry { run_at } => give_back(context, job, run_at, &cause).await,
        Next::Fail => fail(context, job, cause).await,
    }
}

fn log_error(job: &ClaimedJob, error: &JobError, cause: &str) {
    let (kind, id) = (job.kind.name(), job.id);
    match error {
        JobError::LeaseLost => {}
        JobError::Full => tracing::warn!(job.kind = kind, job.id = %id, "job waits: the disk is full"),
        JobError::Later(pause) => {
            let (failures, wait_ms) = (pause.tries.failures, later::wait_ms(pause));
            tracing::info!(job.kind = kind, job.id = %id, failures, wait_ms, "the source is asked again later");
        }
        JobError::Away(_) => {
            tracing::warn!(job.kind = kind, job.id = %id, error = cause, "job waits for what does not answer");
        }
        JobError::Fatal(_) | JobError::Retry(_) => {
            tracing::warn!(job.kind = kind, job.id = %id, job.attempt = job.attempt, error = cause, "job failed");
        }
    }
}

/// Ends a job that has used up its attempts, with what waits for it.
async fn fail(context: &Context, job: &ClaimedJob, cause: String) {
    let ended = match &job.kind {
        JobKind::Download { media } => download::give_up(context, job, *media).await,
        JobKind::FetchTrack { media, track, source } => {
            let wanted = fetch_track::Wanted { media: *media, track: *track, source: *source };
            fetch_track::give_up(context, job, wanted).await
        }
        JobKind::FetchSound { media, track } => fetch_sound::give_up(context, job, *media, *track).await,
        JobKind::IngestUpload { media } => ingest_upload::give_up(context, job, *media).await,
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
        // The lease runs out and another attempt ends it.
        tracing::error!(job.kind = job.kind.name(), job.id = %job.id, error = error_chain(&error), "a job could not be ended");
    }
}

async fn give_back(context: &Context, job: &ClaimedJob, run_at: Timestamp, note: &str) {
    let (job, note) = (job.clone(), note.to_owned());
    if let Err(error) = context.store.write(async move |tx| tx.retry_job(&job, run_at, &note).await).await {
        tracing::warn!(error = %error, "a job could not be put back; its lease runs out");
    }
}

/// Gives a job back that could not be tried: no attempt is counted.
async fn wait(context: &Context, job: &ClaimedJob, run_at: Timestamp, note: &str) {
    let (job, note) = (job.clone(), note.to_owned());
    if let Err(error) = context.store.write(async move |tx| tx.defer_job(&job, run_at, &note).await).await {
        tracing::warn!(error = %error, "a job could not be put back; its lease runs out");
    }
}
