//! Whole bodies, compared with snapshots: only ids, times and ports are replaced.

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use crate::support::{HOOK, TestApp, text};

/// The bodies of the events of one media, in order of arrival, which is the order of the changes.
async fn bodies(app: &TestApp, count: usize) -> Vec<Value> {
    let bodies: Vec<_> =
        app.posts(HOOK, count).await.iter().map(kinora_testkit::ReceivedPost::json).collect();
    assert_eq!(bodies.len(), count, "each event once: {bodies:?}");
    bodies
}

/// The bodies in one text, with one name per id.
fn golden(app: &TestApp, bodies: &[Value]) -> String {
    let mut golden = app.golden();
    bodies.iter().map(|body| golden.json(body)).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn bodies_of_created_ready_and_deleted_events() {
    let app = TestApp::start().await;
    let fields = json!({"title": "A title", "creatorId": "creator-1", "metadata": {"season": "2"}, "sourceAccess": true,
        "optimizeAudio": true, "maxResolution": "720p"});
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), fields).await;
    // The request enabled access to its original and levelled audio, so there are events for these too.
    bodies(&app, 5).await;
    assert_eq!(app.delete(text(&media["id"])).await.status, 200);
    let bodies = bodies(&app, 6).await;
    insta::assert_snapshot!(golden(&app, &bodies));

    // The event has the same values as the `GET` response.
    let [created, ready, ..] = &bodies[..] else { panic!("six events") };
    for name in ["id", "thumbnail", "sourceResolution", "playbackIds", "duration", "aspectRatio", "metadata"]
    {
        assert_eq!(ready["data"][name], media[name], "{name}");
    }
    let track_ids = |tracks: &Value| {
        tracks.as_array().unwrap().iter().map(|track| track["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(track_ids(&ready["data"]["tracks"]), track_ids(&media["tracks"]));
    assert_eq!(ready["updated_at"], media["updatedAt"]);
    assert_eq!(created["data"]["createdAt"], media["createdAt"]);
}

#[tokio::test]
async fn bodies_of_created_and_failed_events() {
    let app = TestApp::start().await;
    let url = app.serve("/page", Source::of(fixture::not_media::html()));
    let media = app.create_with(&url, json!({"metadata": {"season": "2"}})).await;
    let failed = app.wait_settled(text(&media["id"])).await;
    let bodies = bodies(&app, 2).await;
    insta::assert_snapshot!(golden(&app, &bodies));
    assert_eq!(bodies[1]["data"]["error"], failed["error"]);
    assert_eq!(bodies[1]["data"]["updatedAt"], failed["updatedAt"]);
}

#[tokio::test]
async fn body_of_ready_event_of_audio_only() {
    let app = TestApp::start().await;
    app.ready("/a.m4a", fixture::audio_only()).await;
    insta::assert_snapshot!(golden(&app, &bodies(&app, 2).await[1..]));
}

#[tokio::test]
async fn body_of_ready_event_of_private_video_only() {
    let app = TestApp::start().await;
    app.ready_with("/a.mp4", fixture::video_only(), json!({"accessPolicy": "private"})).await;
    insta::assert_snapshot!(golden(&app, &bodies(&app, 2).await[1..]));
}

/// In the specification, the name of the time field depends on the event type, and no type has two.
#[tokio::test]
async fn time_field_spelling_matches_the_event_type() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    assert_eq!(app.delete(text(&media["id"])).await.status, 200);
    app.create(&super::nowhere(&app)).await;
    for (event_type, fields) in [
        ("video.media.created", &["createdAt"][..]),
        ("video.media.ready", &["created_at", "updated_at"]),
        ("video.media.failed", &["createdAt"]),
        ("video.media.deleted", &["createdAt"]),
    ] {
        let body = app.event(event_type).await;
        let names = body.as_object().unwrap().keys().map(String::as_str);
        let times: Vec<_> = names.filter(|name| name.ends_with("At") || name.ends_with("_at")).collect();
        assert_eq!(times, fields, "{event_type}");
    }
}
