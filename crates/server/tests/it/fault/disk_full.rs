//! A disk without room: jobs wait, `/readyz` says why, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kinora_testkit::{Source, fixture};

use super::clock::TestClock;
use super::drain::{drain, objects_but_pictures, objects_of};
use super::events;
use crate::support::{DEADLINE, Faults, TestApp, text, until};

/// A wait of 10 s for room is over in one.
const SPEED: u32 = 10;
const PATH: &str = "/a.mp4";

/// A disk that is full when it is told so.
#[derive(Clone, Default)]
struct Disk {
    is_full: Arc<AtomicBool>,
    /// Writes that were refused so far.
    has_refused: Arc<AtomicBool>,
}

impl Disk {
    fn set_full(&self, is_full: bool) {
        self.has_refused.store(false, Ordering::SeqCst);
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    fn refuses(&self) -> bool {
        let is_full = self.is_full.load(Ordering::SeqCst);
        self.has_refused.fetch_or(is_full, Ordering::SeqCst);
        is_full
    }

    async fn refused_something(&self) {
        until("a write is refused", async || self.has_refused.load(Ordering::SeqCst).then_some(())).await;
    }

    fn of_objects(&self) -> Faults {
        let disk = self.clone();
        let decide = move |_| {
            if disk.refuses() { kinora_blob::FaultAction::Full } else { kinora_blob::FaultAction::Proceed }
        };
        Faults::new(None, Some(Arc::new(kinora_blob::Faults::new(decide))))
    }

    fn of_database(&self) -> Faults {
        Faults::new(Some(Arc::new(self.clone())), None)
    }
}

impl kinora_store::Faults for Disk {
    fn at(&self, point: kinora_store::FaultPoint) -> kinora_store::FaultAction {
        // What is kept is kept: a full disk shows before.
        if point == kinora_store::FaultPoint::BeforeCommit && self.refuses() {
            kinora_store::FaultAction::Fail
        } else {
            kinora_store::FaultAction::Continue
        }
    }
}

/// A server whose download has come half way, when the disk fills up and the rest comes.
async fn filled_up(disk: &Disk, faults: Faults) -> (TestApp, TestClock, String) {
    let clock = TestClock::running(SPEED);
    let app = TestApp::options().clock(clock.clone()).faults(faults).start().await;
    let bytes = fixture::two_seconds();
    let half = bytes.len() as u64 / 2;
    let url = app.serve(PATH, Source::of(bytes).gated_at(half));
    let media = app.create(&url).await;
    app.sources.wait_until_held(PATH, DEADLINE).await;
    app.event("video.media.created").await;
    disk.set_full(true);
    app.sources.release(PATH);
    disk.refused_something().await;
    (app, clock, text(&media["id"]).to_owned())
}

async fn ends_well(app: &TestApp, clock: &TestClock, id: &str) {
    assert_eq!(app.wait_settled(id).await["status"], "Ready");
    drain(app, clock).await;
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.ready"]);
    assert_eq!(objects_but_pictures(app).await, objects_of(app, id).await);
    assert_eq!(app.fetch("/readyz").await.status, 200);
}

#[tokio::test]
async fn a_source_without_room_waits_until_there_is_some() {
    let disk = Disk::default();
    let (app, clock, id) = filled_up(&disk, disk.of_objects()).await;
    // The same job again and again: it costs no attempt, so it never gives up.
    for _ in 0..3 {
        disk.set_full(true);
        disk.refused_something().await;
    }
    let not_ready = until("the server says so", async || {
        let answer = app.fetch("/readyz").await;
        (answer.status == 503).then_some(answer)
    })
    .await;
    let storage = &not_ready.json()["checks"][1];
    assert_eq!((&storage["name"], &storage["ok"]), (&"storage".into(), &false.into()));
    assert!(not_ready.text().contains("the disk has no room"), "{not_ready:?}");
    assert_eq!(app.get(&id).await.data()["status"], "Downloading");
    assert_eq!(app.objects().await, [""; 0]);
    disk.set_full(false);
    ends_well(&app, &clock, &id).await;
}

#[tokio::test]
async fn a_database_without_room_makes_everything_wait_and_says_so() {
    let disk = Disk::default();
    let (app, clock, id) = filled_up(&disk, disk.of_database()).await;
    let not_ready = until("the server says so", async || {
        let answer = app.fetch("/readyz").await;
        (answer.status == 503).then_some(answer)
    })
    .await;
    let database = &not_ready.json()["checks"][0];
    assert_eq!((&database["name"], &database["ok"]), (&"database".into(), &false.into()));
    assert!(not_ready.text().contains("the disk is full"), "{not_ready:?}");
    // What cannot be kept is not accepted.
    let url = app.sources.url(PATH);
    let body = serde_json::json!({"inputs": [{"type": "video", "url": url}]});
    let refused = app.call("POST", "/v1/on-demand").json(&body).send().await;
    assert_eq!(refused.status, 507, "{refused:?}");
    assert_eq!(app.get(&id).await.status, 200, "reading goes on");

    disk.set_full(false);
    ends_well(&app, &clock, &id).await;
    let all = app.call("GET", "/v1/on-demand").send().await.data();
    assert_eq!(all.as_array().map(Vec::len), Some(1), "what was refused is not there");
}
