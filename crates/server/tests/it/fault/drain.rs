//! Waiting until a server has nothing left to do, and what must lie in its folder then.

use std::sync::Mutex;
use std::time::Duration;

use kinora_blob::ObjectKey;
use kinora_domain::{Clock as _, MediaId};
use kinora_store::JobQueue;
use tokio::time::Instant;

use super::clock::TestClock;
use super::life::LEASE;
use crate::support::{TestApp, until};

/// Only the next sweep is further away than that: waits and leases of other jobs are shorter.
const LONGEST_WAIT_S: i64 = 20 * 60;
/// Longer than between two sweeps.
const SWEPT_EVERY: Duration = Duration::from_secs(61 * 60);
/// Longer than objects without a media are left alone.
const SWEPT_AFTER: Duration = Duration::from_secs(26 * 60 * 60);

/// PostgreSQL may be too busy for a job, which is then put back for a while; where the clock stands, this is how long it may stand. Each
/// time half as long again: a clock that moves on by a lease takes its job from a worker that is merely slow.
const PUT_BACK_AFTER: Duration = Duration::from_secs(2);

/// Waits until no job and no delivery is left but the next sweep. On SQLite it moves no clock: what waits for one is waited for in
/// vain. On PostgreSQL the clock moves on by a lease whenever nothing has come of waiting.
pub(crate) async fn drain(app: &TestApp, clock: &TestClock) {
    let mut looked = Instant::now();
    let mut patience = PUT_BACK_AFTER;
    until("no job and no delivery is left", async || {
        if is_drained(app, clock).await {
            return Some(());
        }
        if app.ground.is_shared() && looked.elapsed() > patience {
            looked = Instant::now();
            patience = patience * 3 / 2;
            clock.advance(LEASE);
        }
        None
    })
    .await;
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
pub(super) struct Fills<'a> {
    clock: &'a TestClock,
    /// When the clock was moved on last.
    moved: Mutex<Instant>,
}

impl<'a> Fills<'a> {
    pub(super) fn new(clock: &'a TestClock) -> Self {
        Self { clock, moved: Mutex::new(Instant::now()) }
    }

    /// Whether none is left but the next look at what is watched. Moves the clock on as [`drain`] does.
    pub(super) async fn over(&self, app: &TestApp) -> Option<()> {
        let far = self.clock.now().plus_micros(i64::try_from(LEASE.as_micros()).expect("a short time"));
        let mut due = Vec::new();
        for queue in [JobQueue::Fill, JobQueue::Sound, JobQueue::Tend] {
            due.extend(app.store.next_job_due(queue).await.ok()?);
        }
        if due.iter().all(|due| far < *due) {
            return Some(());
        }
        let mut moved = self.moved.lock().unwrap();
        if app.ground.is_shared() && moved.elapsed() > 2 * PUT_BACK_AFTER {
            *moved = Instant::now();
            self.clock.advance(LEASE);
        }
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
    let keys = [ObjectKey::Index(source), ObjectKey::Source(source)].into_iter().chain(sound);
    keys.map(|key| key.to_string()).collect()
}

/// The objects without the pictures, which come when somebody asks.
pub(crate) async fn objects_but_pictures(app: &TestApp) -> Vec<String> {
    app.objects().await.into_iter().filter(|path| !path.starts_with("picture/")).collect()
}
