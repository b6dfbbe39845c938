//! Every job may run twice: after its lease was lost, and again long after its end.

use kinora_domain::{Clock as _, MediaId};
use kinora_store::{JobKind, NewJob};
use kinora_testkit::{Answer, Source, fixture};
use serde_json::json;

use super::clock::TestClock;
use super::crash_scenario::LEASE;
use super::drain::{drain, objects_of, objects_without_images, sweep};
use super::events;
use crate::support::{DEADLINE, TestApp, text};

async fn app() -> (TestApp, TestClock) {
    let clock = TestClock::standing();
    (TestApp::options().clock(clock.clone()).start().await, clock)
}

#[tokio::test]
async fn concurrent_downloads_store_one_source() {
    let (app, clock) = app().await;
    let bytes = fixture::two_seconds();
    let half = bytes.len() as u64 / 2;
    let url = app.serve("/a.mp4", Source::of(bytes).gated_at(half));
    let media = app.create(&url).await;
    let id = text(&media["id"]);
    app.sources.wait_until_held("/a.mp4", DEADLINE).await;
    clock.advance(LEASE);
    app.sources.wait_for_requests("/a.mp4", 2, DEADLINE).await;
    // Both have half of the bytes now, and both continue.
    app.sources.release("/a.mp4");

    assert_eq!(app.wait_settled(id).await["status"], "Ready");
    drain(&app, &clock).await;
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.ready"]);
    let objects = objects_of(&app, id).await;
    let remaining = app.objects().await;
    assert!(objects.iter().all(|object| remaining.contains(object)));
    // The late worker may have named its source after the cleanup: the sweep removes it.
    sweep(&app, &clock).await;
    assert_eq!(objects_without_images(&app).await, objects);
    let playback = text(&app.get(id).await.data()["playbackIds"][0]["id"]).to_owned();
    assert_eq!(app.fetch(&format!("/{playback}.m3u8")).await.status, 200);
}

#[tokio::test]
async fn event_with_lost_lease_is_redelivered_under_the_same_id() {
    let (app, clock) = app().await;
    app.receiver.answer_next("/hook", [Answer::ok().delayed(), Answer::ok().delayed()]);
    let url = app.serve("/a.mp4", Source::refused(404));
    let media = app.create(&url).await;
    let id = text(&media["id"]);
    app.receiver.wait_for(DEADLINE, |posted| posted.len() == 1).await;
    clock.advance(LEASE);
    let posted = app.receiver.wait_for(DEADLINE, |posted| {
        let created = posted.iter().filter(|post| post.event_type() == "video.media.created");
        created.count() == 2
    });
    posted.await;
    app.receiver.release("/hook");
    drain(&app, &clock).await;
    // Their order is not defined: with an hour between them, no event delays another one.
    let mut event_types = events::by_media(&app.receiver).remove(id).expect("it has events");
    event_types.sort();
    assert_eq!(event_types, ["video.media.created", "video.media.failed"]);
}

#[tokio::test]
async fn finished_jobs_are_idempotent() {
    // The clock runs: a BlurHash job that fails in ffmpeg is retried.
    let clock = TestClock::running(1);
    let app = TestApp::options().clock(clock.clone()).blur_hash().start().await;
    let ready = app.ready("/a.mp4", fixture::two_seconds()).await;
    let gone = app.ready("/b.mp4", fixture::two_seconds()).await;
    let failed = app.create(&app.serve("/c.mp4", Source::refused(404))).await;
    app.wait_settled(text(&failed["id"])).await;
    let id = |media: &serde_json::Value| text(&media["id"]).parse::<MediaId>().expect("an id from the API");
    let [ready, gone, failed] = [&ready, &gone, &failed].map(id);
    let source = async |media| app.store.media_by_id(media).await.unwrap().unwrap().source().unwrap();
    let (source_of_ready, source_of_gone) = (source(ready).await, source(gone).await);
    assert_eq!(app.delete(&gone.to_string()).await.status, 200);
    drain(&app, &clock).await;

    let seen = async || {
        let rows =
            [app.store.media_by_id(ready).await.unwrap(), app.store.media_by_id(failed).await.unwrap()];
        (rows, app.objects().await, events::by_media(&app.receiver), app.get(&gone.to_string()).await.status)
    };
    let before = seen().await;
    let now = clock.now();
    for kind in [
        JobKind::Download { media: ready },
        JobKind::Download { media: gone },
        JobKind::Download { media: failed },
        JobKind::ProbeDecode { media: ready, source: source_of_ready },
        JobKind::ProbeDecode { media: gone, source: source_of_gone },
        JobKind::ProbeDecode { media: ready, source: source_of_gone },
        JobKind::BlurHash { media: ready, source: source_of_ready },
        JobKind::BlurHash { media: gone, source: source_of_gone },
        JobKind::BlurHash { media: ready, source: source_of_gone },
        JobKind::MeasureLoudness { media: ready, source: source_of_ready },
        JobKind::MeasureLoudness { media: gone, source: source_of_gone },
        JobKind::MeasureLoudness { media: ready, source: source_of_gone },
        JobKind::RefreshMp4 { media: ready, source: source_of_ready },
        JobKind::RefreshMp4 { media: gone, source: source_of_gone },
        JobKind::DeleteObjects { source: source_of_gone },
        JobKind::Sweep,
    ] {
        app.store.write(async move |tx| tx.enqueue(NewJob::due_now(kind, None, now)).await).await.unwrap();
    }
    drain(&app, &clock).await;
    assert_eq!(seen().await, before);
    assert_eq!(app.sources.requests("/a.mp4").len(), 1, "nothing is fetched again");
    assert_eq!(json!(app.objects().await.len()), 2);
}
