//! Jobs that fail through our own faults: retried, and at last failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kinora_blob::{FaultAction, ObjectKey, WriteKind};
use kinora_domain::Clock as _;
use kinora_store::JobQueue;
use kinora_testkit::{Source, fixture};
use serde_json::json;

use super::clock::TestClock;
use super::drain::{drain, objects_of, objects_without_images, sweep};
use super::events;
use crate::support::{DEADLINE, Faults, TestApp, text, until};

/// The first attempt of a job panics before its source gets its name.
fn panic_once() -> Faults {
    let has_panicked = AtomicBool::new(false);
    let objects = kinora_blob::Faults::new(move |write| {
        let is_it = (write.kind, matches!(write.key, ObjectKey::Source(_))) == (WriteKind::Finish, true);
        assert!(!is_it || has_panicked.swap(true, Ordering::SeqCst), "this panic is part of the test");
        FaultAction::Proceed
    });
    Faults::new(None, Some(Arc::new(objects)))
}

/// The clock stands still, so a lease keeps its initial length.
const LEASE_US: u64 = 25_000_000;

/// Waits until the download is requeued with a delay, and returns the delay.
async fn retry_delay(app: &TestApp, clock: &TestClock) -> Duration {
    until("the download waits", async || {
        let job = app.store.next_job_due(JobQueue::Download).await.expect("the database can be read");
        let wait_us = u64::try_from(job?.micros_since(clock.now())).ok()?;
        // While a worker runs the job, this is the end of the lease.
        (0 < wait_us && wait_us != LEASE_US).then(|| Duration::from_micros(wait_us))
    })
    .await
}

#[tokio::test]
async fn panicking_job_is_retried() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).faults(panic_once()).start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()));
    let media = app.create(&url).await;
    let id = text(&media["id"]);
    app.sources.wait_for_requests("/a.mp4", 1, DEADLINE).await;

    // The retry has a delay, and the clock stands still meanwhile.
    let wait = retry_delay(&app, &clock).await;
    assert_eq!(app.get(id).await.data()["status"], "Downloading");

    clock.advance(wait);
    assert_eq!(app.wait_settled(id).await["status"], "Ready");
    drain(&app, &clock).await;
    assert_eq!(app.sources.requests("/a.mp4").len(), 2);
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.ready"]);
    assert_eq!(objects_without_images(&app).await, objects_of(&app, id).await);
}

/// The most attempts of a job.
///
/// C-31: a job that fails through our own faults fails as `internal`.
const ATTEMPTS: u64 = 12;

#[tokio::test]
async fn repeated_internal_error_ends_in_failed_event() {
    let attempts = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&attempts);
    let objects = kinora_blob::Faults::new(move |write| {
        if write.kind != WriteKind::Create {
            return FaultAction::Proceed;
        }
        counted.fetch_add(1, Ordering::SeqCst);
        FaultAction::Fail
    });
    let clock = TestClock::standing();
    let faults = Faults::new(None, Some(Arc::new(objects)));
    let app = TestApp::options().clock(clock.clone()).faults(faults).start().await;
    let media = app.create(&app.serve("/a.mp4", Source::of(fixture::two_seconds()))).await;
    let id = text(&media["id"]);

    for attempt in 1..=ATTEMPTS {
        until("the job is tried", async || (attempts.load(Ordering::SeqCst) == attempt).then_some(())).await;
        if attempt < ATTEMPTS {
            let wait = retry_delay(&app, &clock).await;
            clock.advance(wait);
        }
    }
    let media = app.wait_settled(id).await;
    assert_eq!(
        media["error"],
        json!({"code": "internal", "message": "the server could not process this media; create it again"})
    );
    sweep(&app, &clock).await;
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.failed"]);
    assert_eq!(app.objects().await, [""; 0]);
}
