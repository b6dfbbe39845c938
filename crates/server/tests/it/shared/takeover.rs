//! Two workers on the same jobs: each job is done by one, and by the other when that one is no more.

use std::time::Duration;

use kinora_domain::Clock as _;
use kinora_store::JobQueue;
use kinora_testkit::{Source, fixture};

use crate::fault::drain::{drain, objects_but_pictures, objects_of};
use crate::fault::{TestClock, events};
use crate::support::{DEADLINE, TestApp, text};

/// Work of a process that was killed is taken over within that time.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(30);
/// How often workers look for jobs.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const PATH: &str = "/a.mp4";

#[tokio::test]
async fn a_worker_that_is_killed_in_a_download_is_replaced_by_the_other_within_thirty_seconds() {
    let clock = TestClock::standing();
    let mut one = TestApp::options().clock(clock.clone()).start().await;
    let bytes = fixture::two_seconds();
    let half = bytes.len() as u64 / 2;
    let media = one.create(&one.serve(PATH, Source::of(bytes).gated_at(half))).await;
    let id = text(&media["id"]);
    one.sources.wait_until_held(PATH, DEADLINE).await;
    one.event("video.media.created").await;
    let other = TestApp::beside(&one, TestApp::options().clock(clock.clone())).await;
    one.kill().await;

    let lease_end = one.store.next_job_due(JobQueue::Download).await.unwrap().expect("somebody holds it");
    let wait =
        Duration::from_micros(u64::try_from(lease_end.micros_since(clock.now())).expect("it is to come"));
    assert!(wait + LOOK_EVERY <= TAKEN_OVER_WITHIN, "{wait:?}");
    assert_eq!(one.sources.requests(PATH).len(), 1, "nobody takes it before its time");

    clock.advance(wait);
    one.sources.wait_for_requests(PATH, 2, DEADLINE).await;
    one.sources.release(PATH);
    assert_eq!(other.wait_settled(id).await["status"], "Ready");
    drain(&other, &clock).await;
    assert_eq!(events::by_media(&one.receiver)[id], ["video.media.created", "video.media.ready"]);
    assert_eq!(objects_but_pictures(&other).await, objects_of(&other, id).await);
}

#[tokio::test]
async fn of_many_jobs_no_two_workers_take_the_same_and_each_event_is_posted_once() {
    const MEDIA: usize = 30;
    let clock = TestClock::standing();
    let one = TestApp::options().clock(clock.clone()).start().await;
    let other = TestApp::beside(&one, TestApp::options().clock(clock.clone())).await;
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
    let told = events::by_media(&one.receiver);
    for media in &made {
        assert_eq!(told[text(&media["id"])], ["video.media.created", "video.media.ready"]);
    }
    assert_eq!(one.receiver.posted().len(), 2 * MEDIA, "no event was posted twice");
}
