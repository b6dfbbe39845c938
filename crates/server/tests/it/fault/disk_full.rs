//! A full disk: jobs wait, `/readyz` states the reason, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kinora_testkit::{Source, fixture};

use super::clock::TestClock;
use super::drain::{drain, objects_of, objects_without_images};
use super::events;
use crate::support::{DEADLINE, Faults, TestApp, text, until};

/// A delay of 10 s for disk space takes one second.
const SPEED: u32 = 10;
const PATH: &str = "/a.mp4";

/// A disk that a test fills and frees.
#[derive(Clone, Default)]
struct Disk {
    is_full: Arc<AtomicBool>,
    /// Whether it has rejected a write.
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
        // A commit is durable once made: a full disk shows before it.
        if point == kinora_store::FaultPoint::BeforeCommit && self.refuses() {
            kinora_store::FaultAction::Fail
        } else {
            kinora_store::FaultAction::Continue
        }
    }
}

/// A server whose download is half complete when the disk fills up and the rest arrives.
async fn app_with_full_disk(disk: &Disk, faults: Faults) -> (TestApp, TestClock, String) {
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

async fn check_completes(app: &TestApp, clock: &TestClock, id: &str) {
    assert_eq!(app.wait_settled(id).await["status"], "Ready");
    drain(app, clock).await;
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.ready"]);
    assert_eq!(objects_without_images(app).await, objects_of(app, id).await);
    assert_eq!(app.fetch("/readyz").await.status, 200);
}

#[tokio::test]
async fn download_waits_for_disk_space() {
    let disk = Disk::default();
    let (app, clock, id) = app_with_full_disk(&disk, disk.of_objects()).await;
    // The same job is retried without limit: a full disk costs no attempt.
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
    assert!(not_ready.text().contains("the disk has too little space"), "{not_ready:?}");
    assert_eq!(app.get(&id).await.data()["status"], "Downloading");
    assert_eq!(app.objects().await, [""; 0]);
    disk.set_full(false);
    check_completes(&app, &clock, &id).await;
}

#[tokio::test]
async fn full_database_disk_is_507_and_readyz_503() {
    let disk = Disk::default();
    let (app, clock, id) = app_with_full_disk(&disk, disk.of_database()).await;
    let not_ready = until("the server says so", async || {
        let answer = app.fetch("/readyz").await;
        (answer.status == 503).then_some(answer)
    })
    .await;
    let database = &not_ready.json()["checks"][0];
    assert_eq!((&database["name"], &database["ok"]), (&"database".into(), &false.into()));
    assert!(not_ready.text().contains("the disk is full"), "{not_ready:?}");
    // A request that cannot be stored is rejected.
    let url = app.sources.url(PATH);
    let body = serde_json::json!({"inputs": [{"type": "video", "url": url}]});
    let refused = app.call("POST", "/v1/on-demand").json(&body).send().await;
    assert_eq!(refused.status, 507, "{refused:?}");
    assert_eq!(app.get(&id).await.status, 200, "reading goes on");

    disk.set_full(false);
    check_completes(&app, &clock, &id).await;
    let all = app.call("GET", "/v1/on-demand").send().await.data();
    assert_eq!(all.as_array().map(Vec::len), Some(1), "the rejected media is not stored");
}
