//! Waiting until a server has nothing left to do, and what must lie in its folder then.

use std::sync::Mutex;
use std::time::Duration;

use kinora_blob::ObjectKey;
use kinora_domain::{Clock as _, MediaId, PresentationId, Timestamp};
use kinora_store::JobQueue;
use serde_json::Value;
use tokio::time::Instant;

use super::clock::TestClock;
use super::life::{LEASE, say};
use crate::support::{TestApp, until};

/// Only the next sweep is further away than that: waits and leases of other jobs are shorter.
const LONGEST_WAIT_S: i64 = 20 * 60;
/// Longer than between two sweeps.
const SWEPT_EVERY: Duration = Duration::from_secs(61 * 60);
/// Longer than objects without a media are left alone.
const SWEPT_AFTER: Duration = Duration::from_secs(26 * 60 * 60);

/// How long the clock stands on PostgreSQL before the leases that are held count as abandoned: a worker could
/// not write the end of its job. Rare, so it may be much longer than any job takes on a slow machine.
const ABANDONED_AFTER: Duration = Duration::from_secs(200);

/// Moves a standing clock on PostgreSQL, where a job is put back while the database is too busy for it.
struct Mover<'a> {
    clock: &'a TestClock,
    /// When the clock was moved last, in real time.
    moved: Mutex<Instant>,
}

impl<'a> Mover<'a> {
    fn new(clock: &'a TestClock) -> Self {
        Self { clock, moved: Mutex::new(Instant::now()) }
    }

    /// Moves the clock by a lease when nothing can happen before: no job or delivery is due, and no lease is
    /// held. On SQLite it never does.
    async fn move_if_idle(&self, app: &TestApp) {
        if !app.ground.is_shared() {
            return;
        }
        // Twice: a job may have ended in one queue and begun in another between two questions.
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
const QUEUES: [JobQueue; 8] = [
    JobQueue::Download,
    JobQueue::Tracks,
    JobQueue::Ingest,
    JobQueue::Uploads,
    JobQueue::Fill,
    JobQueue::Sound,
    JobQueue::Tend,
    JobQueue::Upkeep,
];

/// Waits until no job and no delivery is left but the next sweep. On SQLite it moves no clock: what waits for
/// one is waited for in vain. On PostgreSQL the clock moves on by a lease when everything that is left waits
/// for it.
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

/// Waits until a media is ready or failed, and answers it. A clock that stands is moved on to the next
/// attempt of a download that waits for it.
pub(super) async fn wait_settled(app: &TestApp, clock: &TestClock, media: &str) -> Value {
    until("the media is ready or failed", async || {
        let data = app.get(media).await.data();
        if matches!(data["status"].as_str(), Some("Ready" | "Failed")) {
            return Some(data);
        }
        let next = async || app.store.next_job_due(JobQueue::Download).await.unwrap();
        let (due, is_leased) = (next().await, app.store.is_job_leased(JobQueue::Download).await.unwrap());
        // The same before and after: no job is at work, whose lease would end.
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

/// Whether it is, as far as the database answers.
async fn is_drained(app: &TestApp, clock: &TestClock) -> bool {
    let far = clock.now().plus_seconds(LONGEST_WAIT_S);
    let jobs = async |queue| app.store.next_job_due(queue).await;
    for queue in [JobQueue::Download, JobQueue::Tracks, JobQueue::Ingest] {
        if !matches!(jobs(queue).await, Ok(None)) {
            return false;
        }
    }
    // The next sweep, and looks at uploads that wait for their time to be over.
    for queue in [JobQueue::Upkeep, JobQueue::Uploads] {
        if !jobs(queue).await.is_ok_and(|due| due.is_none_or(|due| far < due)) {
            return false;
        }
    }
    matches!(app.store.next_delivery_due().await, Ok(None))
}

/// Waits until no fill is left but the next look at what is watched.
pub(super) async fn drain_fills(app: &TestApp, clock: &TestClock) {
    let fills = Fills::new(clock);
    until("no fill is left", async || fills.over(app).await).await;
}

/// Jobs that encode ahead.
pub(super) struct Fills<'a>(Mover<'a>);

impl<'a> Fills<'a> {
    pub(super) fn new(clock: &'a TestClock) -> Self {
        Self(Mover::new(clock))
    }

    /// Whether none is left but the next look at what is watched. Moves the clock on as [`drain`] does.
    pub(super) async fn over(&self, app: &TestApp) -> Option<()> {
        let lease = i64::try_from(LEASE.as_micros()).expect("a short time");
        let far = self.0.clock.now().plus_micros(lease);
        let mut due = Vec::new();
        for queue in [JobQueue::Fill, JobQueue::Sound, JobQueue::Tend] {
            due.extend(app.store.next_job_due(queue).await.ok()?);
        }
        if due.iter().all(|due| far < *due) {
            return Some(());
        }
        self.0.move_if_idle(app).await;
        None
    }
}

/// Waits for the sweep that comes next, and until it is over.
pub(super) async fn sweep_soon(app: &TestApp, clock: &TestClock) {
    drain(app, clock).await;
    clock.advance(SWEPT_EVERY);
    drain(app, clock).await;
}

/// Makes every object older than the sweep spares, and waits until it has been.
pub(crate) async fn sweep(app: &TestApp, clock: &TestClock) {
    clock.advance(SWEPT_AFTER);
    drain(app, clock).await;
}

/// The objects that belong to a ready media, as paths: its source and its index. None for any other.
pub(crate) async fn objects_of(app: &TestApp, media: &str) -> Vec<String> {
    let id: MediaId = media.parse().expect("an id from the API");
    let media = app.store.media_by_id(id).await.expect("the database can be read");
    let Some(media) = media.filter(|media| media.is_settled()) else { return Vec::new() };
    let Some(source) = media.source() else { return Vec::new() };
    let sound = media.settings.sound.map(|_| ObjectKey::Sound(source));
    let keys =
        [ObjectKey::Index(PresentationId::of(source)), ObjectKey::Source(source)].into_iter().chain(sound);
    keys.map(|key| key.to_string()).collect()
}

/// The objects without the pictures, which come when somebody asks.
pub(crate) async fn objects_but_pictures(app: &TestApp) -> Vec<String> {
    app.objects().await.into_iter().filter(|path| !path.starts_with("picture/")).collect()
}
