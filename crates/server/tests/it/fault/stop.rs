//! Ends of a process in the middle of a download, and the start after it.

use kinora_domain::Clock as _;
use kinora_store::JobQueue;
use kinora_testkit::{Source, fixture};

use super::clock::TestClock;
use super::drain::{drain, objects_but_pictures, objects_of};
use super::events;
use super::life::LEASE;
use crate::support::{DEADLINE, TestApp, text, until};

const PATH: &str = "/a.mp4";

/// A server whose download has come half way, and the id of its media. The clock stands still: nothing is over by itself.
pub(crate) async fn half_way() -> (TestApp, TestClock, String) {
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

/// The rest of it, after the next start: one ready event, and the objects of one attempt.
pub(crate) async fn ends_well(app: &TestApp, clock: &TestClock, id: &str) {
    app.sources.wait_for_requests(PATH, 2, DEADLINE).await;
    app.sources.release(PATH);
    assert_eq!(app.wait_settled(id).await["status"], "Ready");
    drain(app, clock).await;
    assert_eq!(app.sources.requests(PATH).len(), 2);
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.ready"]);
    assert_eq!(objects_but_pictures(app).await, objects_of(app, id).await);
}

#[tokio::test]
async fn a_server_that_stops_gives_its_work_back_at_once() {
    let (mut app, clock, id) = half_way().await;
    app.stop().await;
    assert_eq!(app.store.next_job_due(JobQueue::Download).await.unwrap(), Some(clock.now()));
    assert_eq!(app.objects().await, [""; 0], "what has come so far has no name");
    // On PostgreSQL a delivery that was not recorded keeps its lease.
    clock.advance(LEASE);
    app.restart().await;
    ends_well(&app, &clock, &id).await;
}

#[tokio::test]
async fn a_media_that_is_deleted_while_its_bytes_arrive_leaves_no_object_and_no_later_event() {
    let (app, clock, id) = half_way().await;
    assert_eq!(app.delete(&id).await.status, 200);
    assert_eq!(app.get(&id).await.status, 404);
    app.sources.release(PATH);
    // A worker that had all bytes names them, learns that its media is gone, and asks for their removal: meanwhile no job is left.
    until("what came last is gone", async || {
        drain(&app, &clock).await;
        app.objects().await.is_empty().then_some(())
    })
    .await;
    assert_eq!(events::by_media(&app.receiver)[&id], ["video.media.created", "video.media.deleted"]);
}

#[tokio::test]
async fn a_media_that_is_deleted_while_nobody_works_on_it_leaves_no_object_and_no_later_event() {
    let (mut app, clock, id) = half_way().await;
    app.kill().await;
    let media = app.store.media_by_id(id.parse().unwrap()).await.unwrap().unwrap();
    let now = clock.now();
    // As `kinora media delete` does beside a server that is down.
    app.store.write(async move |tx| tx.remove_media(media.clone(), now).await).await.unwrap();
    app.restart().await;
    // What the dead process may have been about: the first sweep, the record of a delivery.
    clock.advance(LEASE);
    drain(&app, &clock).await;
    assert_eq!(app.sources.requests(PATH).len(), 1);
    assert_eq!(app.objects().await, [""; 0]);
    assert_eq!(events::by_media(&app.receiver)[&id], ["video.media.created", "video.media.deleted"]);
}
