//! Two workers on the same jobs: one of them runs each job, and the other one takes it over after a crash.

use std::time::Duration;

use kinora_domain::Clock as _;
use kinora_store::JobQueue;
use kinora_testkit::{Source, fixture};

use crate::fault::drain::{drain, objects_of, objects_without_images};
use crate::fault::{TestClock, events};
use crate::support::{DEADLINE, TestApp, text};

/// A job of a killed process is taken over within this time.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(30);
/// The poll interval of workers.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
const PATH: &str = "/a.mp4";

#[tokio::test]
async fn killed_worker_download_is_taken_over_within_30_seconds() {
    let clock = TestClock::standing();
    let mut one = TestApp::options().clock(clock.clone()).start().await;
    let bytes = fixture::two_seconds();
    let half = bytes.len() as u64 / 2;
    let media = one.create(&one.serve(PATH, Source::of(bytes).gated_at(half))).await;
    let id = text(&media["id"]);
    one.sources.wait_until_held(PATH, DEADLINE).await;
    one.event("video.media.created").await;
    let other = TestApp::on_data_of(&one, TestApp::options().clock(clock.clone())).await;
    one.kill().await;

    let lease_end =
        one.store.next_job_due(JobQueue::Download).await.unwrap().expect("a worker holds its lease");
    let wait =
        Duration::from_micros(u64::try_from(lease_end.micros_since(clock.now())).expect("it is to come"));
    assert!(wait + POLL_INTERVAL <= TAKEOVER_TIMEOUT, "{wait:?}");
    assert_eq!(one.sources.requests(PATH).len(), 1, "no worker claims it before its lease ends");

    clock.advance(wait);
    one.sources.wait_for_requests(PATH, 2, DEADLINE).await;
    one.sources.release(PATH);
    assert_eq!(other.wait_settled(id).await["status"], "Ready");
    drain(&other, &clock).await;
    assert_eq!(events::by_media(&one.receiver)[id], ["video.media.created", "video.media.ready"]);
    assert_eq!(objects_without_images(&other).await, objects_of(&other, id).await);
}

#[tokio::test]
async fn workers_never_share_jobs_events_are_posted_once() {
    const MEDIA: usize = 30;
    let clock = TestClock::standing();
    let one = TestApp::options().clock(clock.clone()).start().await;
    let other = TestApp::on_data_of(&one, TestApp::options().clock(clock.clone())).await;
    let bytes = fixture::two_seconds();
    let mut made = Vec::new();
    for n in 0..MEDIA {
        let app = if n % 2 == 0 { &one } else { &other };
        made.push(app.create(&one.serve(&format!("/{n}.mp4"), Source::of(bytes.clone()))).await);
    }
    for media in &made {
        assert_eq!(one.wait_settled(text(&media["id"])).await["status"], "Ready");
    }
    drain(&one, &clock).await;
    for n in 0..MEDIA {
        assert_eq!(one.sources.requests(&format!("/{n}.mp4")).len(), 1, "media {n}");
    }
    let events_by_media = events::by_media(&one.receiver);
    for media in &made {
        assert_eq!(events_by_media[text(&media["id"])], ["video.media.created", "video.media.ready"]);
    }
    assert_eq!(one.receiver.posted().len(), 2 * MEDIA, "no event was posted twice");
}
