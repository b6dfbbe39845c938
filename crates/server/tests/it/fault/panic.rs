//! A job that panics: it is tried again, and nobody else notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kinora_blob::{FaultAction, ObjectKey, WriteKind};
use kinora_testkit::{Source, fixture};

use super::clock::TestClock;
use super::drain::{drain, objects_but_pictures, objects_of};
use super::events;
use crate::support::{Faults, TestApp, text};

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

#[tokio::test]
async fn a_job_that_panics_is_tried_again() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).faults(panic_once()).start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()));
    let media = app.create(&url).await;
    let id = text(&media["id"]);
    app.sources.wait_for_requests("/a.mp4", 1, crate::support::DEADLINE).await;

    // It waits a little before it tries again, and its clock stands still meanwhile.
    crate::support::until("the job waits", async || {
        let due =
            app.store.next_job_due(kinora_store::JobQueue::Download).await.expect("the database can be read");
        let wait = due?.micros_since(kinora_domain::Clock::now(&clock));
        (0 < wait && wait < Duration::from_secs(30).as_micros().try_into().expect("it fits")).then_some(())
    })
    .await;
    assert_eq!(app.get(id).await.data()["status"], "Downloading");

    clock.advance(Duration::from_secs(5));
    assert_eq!(app.wait_settled(id).await["status"], "Ready");
    drain(&app, &clock).await;
    assert_eq!(app.sources.requests("/a.mp4").len(), 2);
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.ready"]);
    assert_eq!(objects_but_pictures(&app), objects_of(&app, id).await);
}
