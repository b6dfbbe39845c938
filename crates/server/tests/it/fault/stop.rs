//! A process that ends in the middle of a download, and the start after it.

use std::time::Duration;

use kinora_domain::Clock as _;
use kinora_fetch::Limits;
use kinora_store::JobQueue;
use kinora_testkit::{Source, fixture};

use super::clock::TestClock;
use super::crash_scenario::LEASE;
use super::drain::{drain, objects_of, objects_without_images};
use super::events;
use crate::support::{DEADLINE, TestApp, limits, text, until};

const PATH: &str = "/a.mp4";

/// A server whose download is half complete, and the id of its media.
///
/// The clock stands still, so no timeout or lease ends by itself.
pub(crate) async fn half_downloaded() -> (TestApp, TestClock, String) {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let bytes = fixture::two_seconds();
    let half = bytes.len() as u64 / 2;
    let url = app.serve(PATH, Source::of(bytes).gated_at(half));
    let media = app.create(&url).await;
    app.sources.wait_until_held(PATH, DEADLINE).await;
    app.event("video.media.created").await;
    let id = text(&media["id"]).to_owned();
    (app, clock, id)
}

/// Completes the download after the next start: one ready event, and the objects of one attempt.
pub(crate) async fn check_completes(app: &TestApp, clock: &TestClock, id: &str) {
    app.sources.wait_for_requests(PATH, 2, DEADLINE).await;
    app.sources.release(PATH);
    assert_eq!(app.wait_settled(id).await["status"], "Ready");
    drain(app, clock).await;
    assert_eq!(app.sources.requests(PATH).len(), 2);
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.ready"]);
    assert_eq!(objects_without_images(app).await, objects_of(app, id).await);
}

#[tokio::test]
async fn shutdown_releases_job_leases() {
    let (mut app, clock, id) = half_downloaded().await;
    app.stop().await;
    assert_eq!(app.store.next_job_due(JobQueue::Download).await.unwrap(), Some(clock.now()));
    assert_eq!(app.objects().await, [""; 0], "what has come so far has no name");
    // On PostgreSQL a delivery that was not recorded keeps its lease.
    clock.advance(LEASE);
    app.restart().await;
    check_completes(&app, &clock, &id).await;
}

#[tokio::test]
async fn delete_during_download_leaves_no_object_or_event() {
    let (app, clock, id) = half_downloaded().await;
    assert_eq!(app.delete(&id).await.status, 200);
    assert_eq!(app.get(&id).await.status, 404);
    app.sources.release(PATH);
    // A worker with all bytes names them, finds its media deleted, and queues their removal: meanwhile no
    // job is left.
    until("what came last is gone", async || {
        drain(&app, &clock).await;
        app.objects().await.is_empty().then_some(())
    })
    .await;
    assert_eq!(events::by_media(&app.receiver)[&id], ["video.media.created", "video.media.deleted"]);
}

#[tokio::test]
async fn delete_of_queued_media_leaves_no_object_or_event() {
    let (mut app, clock, id) = half_downloaded().await;
    app.kill().await;
    let media = app.store.media_by_id(id.parse().unwrap()).await.unwrap().unwrap();
    let now = clock.now();
    // As `kinora media delete` does while no server runs.
    app.store.write(async move |tx| tx.remove_media(media.clone(), now).await).await.unwrap();
    app.restart().await;
    // Work of the killed process: the first sweep, the record of a delivery.
    clock.advance(LEASE);
    drain(&app, &clock).await;
    assert_eq!(app.sources.requests(PATH).len(), 1);
    assert_eq!(app.objects().await, [""; 0]);
    assert_eq!(events::by_media(&app.receiver)[&id], ["video.media.created", "video.media.deleted"]);
}

/// The source is cut at each attempt; the next attempt starts in an hour or at the next start.
#[tokio::test]
async fn stop_gives_download_no_more_attempts() {
    const STARTS_MAX: usize = 40;
    const CUT_AT: u64 = 1000;
    let limits = Limits { retry_delays: vec![Duration::from_secs(3600); 2], ..limits() };
    let mut app = TestApp::options().without_webhook().limits(limits).start().await;
    let url = app.serve(PATH, Source::of(fixture::two_seconds()).cut_always(CUT_AT));
    let id = text(&app.create(&url).await["id"]).to_owned();
    let mut request_count = 0;
    for _ in 0..STARTS_MAX {
        let status = until("it is asked again, or failed", async || {
            let status = app.get(&id).await.data()["status"].clone();
            (app.sources.requests(PATH).len() > request_count || status == "Failed").then_some(status)
        })
        .await;
        if status == "Failed" {
            return;
        }
        // A stop before the cut counts no attempt.
        for _ in 0..20 {
            app.get(&id).await;
        }
        request_count = app.sources.requests(PATH).len();
        app.stop().await;
        app.restart().await;
    }
    panic!("it is asked without end: {} times", app.sources.requests(PATH).len());
}
