//! Waits until a server has no work left, and lists the objects that must exist then.

use std::sync::Mutex;
use std::time::Duration;

use kinora_blob::ObjectKey;
use kinora_domain::{Clock as _, MediaId, PresentationId, Timestamp};
use kinora_store::JobQueue;
use serde_json::Value;
use tokio::time::Instant;

use super::clock::TestClock;
use super::crash_scenario::{LEASE, say};
use crate::support::{TestApp, until};

/// Only the next sweep is due later: delays and leases of other jobs are shorter.
const JOB_DELAY_MAX_S: i64 = 20 * 60;
/// Longer than the interval between two sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(61 * 60);
/// Longer than the age up to which the sweep spares objects without a media.
const SWEEP_AGE: Duration = Duration::from_secs(26 * 60 * 60);

/// On PostgreSQL, leases count as abandoned after this time without a move of the clock.
///
/// A worker could not write the end of its job. This is rare, so the time is much longer than any job takes
/// on a slow machine.
const ABANDONED_AFTER: Duration = Duration::from_secs(200);

/// Moves a standing clock on PostgreSQL, where a job is requeued while the database is too busy.
struct Mover<'a> {
    clock: &'a TestClock,
    /// The time of the last move, in real time.
    moved: Mutex<Instant>,
}

impl<'a> Mover<'a> {
    fn new(clock: &'a TestClock) -> Self {
        Self { clock, moved: Mutex::new(Instant::now()) }
    }

    /// Moves the clock by a lease when nothing can happen before: no job or delivery is due, and no job is
    /// leased.
    ///
    /// Does nothing on SQLite.
    async fn move_if_idle(&self, app: &TestApp) {
        if !app.ground.is_shared() {
            return;
        }
        // Twice: between two queries a job may have ended in one queue and started in another.
        let is_idle = self.is_idle(app).await && self.is_idle(app).await;
        let mut moved = self.moved.lock().unwrap();
        let is_abandoned = moved.elapsed() > ABANDONED_AFTER;
        if is_abandoned {
            say("a lease counts as abandoned");
        }
        if is_idle || is_abandoned {
            *moved = Instant::now();
            self.clock.advance(LEASE);
        }
    }

    async fn is_idle(&self, app: &TestApp) -> bool {
        for queue in QUEUES {
            if !matches!(app.store.is_job_leased(queue).await, Ok(false))
                || !self.is_later(app.store.next_job_due(queue).await)
            {
                return false;
            }
        }
        matches!(app.store.is_delivery_leased().await, Ok(false))
            && self.is_later(app.store.next_delivery_due().await)
    }

    fn is_later<E>(&self, due: Result<Option<Timestamp>, E>) -> bool {
        due.is_ok_and(|due| due.is_none_or(|due| self.clock.now() < due))
    }
}

/// All queues.
const QUEUES: [JobQueue; 9] = [
    JobQueue::Download,
    JobQueue::Subtitles,
    JobQueue::Ingest,
    JobQueue::UploadChecks,
    JobQueue::Backfill,
    JobQueue::Audio,
    JobQueue::Loudness,
    JobQueue::Renditions,
    JobQueue::Maintenance,
];

/// Waits until no job and no delivery is left except the next sweep.
///
/// On SQLite the clock does not move: a job that waits for the clock is never done. On PostgreSQL the clock
/// moves by a lease when everything left waits for it.
pub(crate) async fn drain(app: &TestApp, clock: &TestClock) {
    let mover = Mover::new(clock);
    until("no job and no delivery is left", async || {
        if is_drained(app, clock).await {
            return Some(());
        }
        mover.move_if_idle(app).await;
        None
    })
    .await;
}

/// Waits until a media is ready or failed, and returns it.
///
/// A standing clock is moved to the next attempt of a download that waits for it.
pub(super) async fn wait_settled(app: &TestApp, clock: &TestClock, media: &str) -> Value {
    until("the media is ready or failed", async || {
        let data = app.get(media).await.data();
        if matches!(data["status"].as_str(), Some("Ready" | "Failed")) {
            return Some(data);
        }
        let next = async || app.store.next_job_due(JobQueue::Download).await.unwrap();
        let (due, is_leased) = (next().await, app.store.is_job_leased(JobQueue::Download).await.unwrap());
        // The same before and after: no running job has a lease that the move would end.
        if let Some(due) = due.filter(|_| !is_leased)
            && next().await == Some(due)
        {
            let wait_us = due.micros_since(clock.now()).max(0);
            clock.advance(Duration::from_micros(wait_us.unsigned_abs()));
        }
        None
    })
    .await
}

/// Whether only the next sweep is left; false when the database does not respond.
async fn is_drained(app: &TestApp, clock: &TestClock) -> bool {
    let due_limit = clock.now().plus_seconds(JOB_DELAY_MAX_S);
    let jobs = async |queue| app.store.next_job_due(queue).await;
    for queue in [JobQueue::Download, JobQueue::Subtitles, JobQueue::Ingest, JobQueue::Loudness] {
        if !matches!(jobs(queue).await, Ok(None)) {
            return false;
        }
    }
    // The next sweep, and checks of uploads that wait for their timeout.
    for queue in [JobQueue::Maintenance, JobQueue::UploadChecks] {
        if !jobs(queue).await.is_ok_and(|due| due.is_none_or(|due| due_limit < due)) {
            return false;
        }
    }
    matches!(app.store.next_delivery_due().await, Ok(None))
}

/// Waits until no backfill is left except the next check of watched renditions.
pub(super) async fn drain_backfills(app: &TestApp, clock: &TestClock) {
    let backfills = Backfills::new(clock);
    until("no fill is left", async || backfills.are_done(app).await).await;
}

/// Backfill jobs, which encode ahead.
pub(super) struct Backfills<'a>(Mover<'a>);

impl<'a> Backfills<'a> {
    pub(super) fn new(clock: &'a TestClock) -> Self {
        Self(Mover::new(clock))
    }

    /// Whether only the next check of watched renditions is left. Moves the clock as [`drain`] does.
    pub(super) async fn are_done(&self, app: &TestApp) -> Option<()> {
        let lease = i64::try_from(LEASE.as_micros()).expect("a short time");
        let lease_end = self.0.clock.now().plus_micros(lease);
        let mut due = Vec::new();
        for queue in [JobQueue::Backfill, JobQueue::Audio, JobQueue::Renditions] {
            due.extend(app.store.next_job_due(queue).await.ok()?);
        }
        if due.iter().all(|due| lease_end < *due) {
            return Some(());
        }
        self.0.move_if_idle(app).await;
        None
    }
}

/// Waits until the next sweep is complete.
pub(super) async fn sweep_once(app: &TestApp, clock: &TestClock) {
    drain(app, clock).await;
    clock.advance(SWEEP_INTERVAL);
    drain(app, clock).await;
}

/// Ages every object until the sweep may remove it, and waits until the sweep is complete.
pub(crate) async fn sweep(app: &TestApp, clock: &TestClock) {
    clock.advance(SWEEP_AGE);
    drain(app, clock).await;
}

/// The paths of the objects of a ready media: its source and its index. None for any other media.
pub(crate) async fn objects_of(app: &TestApp, media: &str) -> Vec<String> {
    let id: MediaId = media.parse().expect("an id from the API");
    let media = app.store.media_by_id(id).await.expect("the database can be read");
    let Some(media) = media.filter(|media| media.is_ready_or_failed()) else { return Vec::new() };
    let Some(source) = media.source() else { return Vec::new() };
    let audio_key = media.settings.audio_edit.map(|_| ObjectKey::Audio(source));
    let keys = [ObjectKey::Index(PresentationId::of(source)), ObjectKey::Source(source)]
        .into_iter()
        .chain(audio_key);
    keys.map(|key| key.to_string()).collect()
}

/// The objects without images, which are made on request.
pub(crate) async fn objects_without_images(app: &TestApp) -> Vec<String> {
    app.objects().await.into_iter().filter(|path| !path.starts_with("picture/")).collect()
}
