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
use crate::lease::{RENEW_EVERY, lease_until};
use crate::{
    Admission, Context, delete_objects, discard_upload, download, encode_audio, fetch_sound, fetch_track,
    files, fill, hash_picture, ingest_upload, later, probe_decode, sweep, tend, tend_upload,
};

/// A queue and how many of its jobs run at once.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    queue: JobQueue,
    concurrent_max: usize,
}

/// The lane of [`DOWNLOADS_MAX`](crate::DOWNLOADS_MAX).
pub(crate) const fn downloads(concurrent_max: usize) -> Lane {
    Lane { queue: JobQueue::Download, concurrent_max }
}
/// Each holds a file of subtitles in memory, of 10 MiB at most, and what it reads as; some wait for their source for minutes.
pub(crate) const TRACKS: Lane = Lane { queue: JobQueue::Tracks, concurrent_max: 16 };
/// Each may repack a file and begin its renditions; the engine says who goes first.
pub(crate) const INGESTS: Lane = Lane { queue: JobQueue::Ingest, concurrent_max: 8 };
/// A look at a row, mostly.
pub(crate) const UPLOADS: Lane = Lane { queue: JobQueue::Uploads, concurrent_max: 8 };
/// Few: each decodes once for all rungs, and the engine lets everything else go first.
pub(crate) const FILLS: Lane = Lane { queue: JobQueue::Fill, concurrent_max: 2 };
/// As few; they begin when a media is ready, whatever is filled meanwhile.
pub(crate) const SOUNDS: Lane = Lane { queue: JobQueue::Sound, concurrent_max: 2 };
/// There is one in all.
pub(crate) const TENDS: Lane = Lane { queue: JobQueue::Tend, concurrent_max: 1 };
/// All else is short.
pub(crate) const UPKEEP: Lane = Lane { queue: JobQueue::Upkeep, concurrent_max: 4 };
/// Nothing depends on being woken: rows are looked at this often anyway (contract decision 42).
const POLL_EVERY: Duration = Duration::from_millis(500);
/// Attempts of a job that our own parts let down, waiting longer each time: about an hour and a half in all.
const ATTEMPTS_MAX: u32 = 12;
const RETRY_FIRST_US: i64 = 2_000_000;
const RETRY_MAX_US: i64 = 15 * 60 * 1_000_000;
/// How long a job waits for room on the disk before it looks again.
const FULL_WAIT_US: i64 = 10_000_000;
/// How long a job waits at least, and at most, for a part that is away.
const AWAY_WAIT_MIN_US: i64 = 2_000_000;
const AWAY_WAIT_MAX_US: i64 = 5 * 60 * 1_000_000;
/// In between it waits this part of its age: the longer something has been away, the longer nobody asks for it.
const AWAY_WAITS_PER_AGE: i64 = 4;

/// Runs the jobs of one lane until `stop` is cancelled; then gives back the claims of those that are still at work.
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

/// Renews the leases when it is time. `false`: it is time and could not be done, so nobody knows whose the jobs are.
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

/// Holds on to what is worked on, and stops the work whose lease is lost: its media was deleted, or another worker has it.
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

/// Lets the job run again later, or ends it when its attempts are used up.
async fn put_back(context: &Context, job: &ClaimedJob, error: &JobError) {
    let now = context.clock.now();
    let cause = error_chain(error);
    if matches!(error, JobError::Full) {
        tracing::warn!(job.kind = job.kind.name(), job.id = %job.id, "job waits: the disk is full");
        return wait(context, job, now.plus_micros(FULL_WAIT_US), "the disk is full").await;
    }
    if let JobError::Later(pause) = error {
        return later::give_back(context, job, pause).await;
    }
    if matches!(error, JobError::Away(_)) {
        tracing::warn!(job.kind = job.kind.name(), job.id = %job.id, error = cause, "job waits for what does not answer");
        let delay = away_wait_us(now.micros_since(job.created_at));
        return wait(context, job, now.plus_micros(delay), &cause).await;
    }
    tracing::warn!(job.kind = job.kind.name(), job.id = %job.id, job.attempt = job.attempt, error = cause, "job failed");
    if job.attempt < ATTEMPTS_MAX || never_gives_up(&job.kind) {
        let delay = (RETRY_FIRST_US << job.attempt.saturating_sub(1).min(20)).min(RETRY_MAX_US);
        return give_back(context, job, now.plus_micros(delay), &cause).await;
    }
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

/// Nobody would ask for it again.
fn never_gives_up(kind: &JobKind) -> bool {
    matches!(
        kind,
        JobKind::DeleteObjects { .. }
            | JobKind::TendUpload { .. }
            | JobKind::DiscardUpload { .. }
            | JobKind::TendRenditions
            | JobKind::Sweep
    )
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

/// How long a job of this age waits for a part that is away. An outage of any length costs it no attempt, so nothing is lost.
fn away_wait_us(age_us: i64) -> i64 {
    (age_us / AWAY_WAITS_PER_AGE).clamp(AWAY_WAIT_MIN_US, AWAY_WAIT_MAX_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_waits_longer_the_longer_something_is_away_and_never_too_long() {
        const SECOND: i64 = 1_000_000;
        let check = |age_s: i64, expected_s: i64| {
            assert_eq!(away_wait_us(age_s * SECOND), expected_s * SECOND, "{age_s} s");
        };
        check(-5, 2); // clocks of two machines differ
        check(0, 2);
        check(8, 2);
        check(60, 15);
        check(1200, 300);
        check(86_400, 300);
    }
}
