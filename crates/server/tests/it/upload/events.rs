//! Webhook events of an upload, and their order (C-6, C-7).

use kinora_testkit::{MovableClock, ReceivedPost, fixture};
use serde_json::{Value, json};

use super::{Upload, long, still};
use crate::support::{HOOK, TestApp};

/// The bodies of the first events, in order of arrival, which is the order of the changes.
///
/// Panics when there are other events.
async fn bodies(app: &TestApp, types: &[&str]) -> Vec<Value> {
    let posted = app.posts(HOOK, types.len()).await;
    app.all_delivered().await;
    let all = app.receiver.posted();
    assert_eq!(all.iter().map(ReceivedPost::event_type).collect::<Vec<_>>(), types);
    posted.iter().map(ReceivedPost::json).collect()
}

/// All bodies in one text, with one name per id.
fn golden(app: &TestApp, upload: &Upload, bodies: &[Value]) -> String {
    let mut golden = upload.golden(app, &fixture::two_seconds());
    bodies.iter().map(|body| golden.json(body)).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn completed_upload() {
    let app = still().await;
    let settings = json!({"title": "A title", "creatorId": "creator-1", "metadata": {"season": "2"}, "sourceAccess": true,
        "optimizeAudio": true, "maxResolution": "720p"});
    let upload = Upload::with(&app, json!({"pushMediaSettings": settings})).await;
    // The file and its length are sent separately, so that sending starts before the length is known.
    let file = fixture::two_seconds();
    assert_eq!(upload.chunk(&app, &file, 0..5000).send().await.status, 308);
    assert_eq!(upload.chunk(&app, &file, 5000..file.len()).send().await.status, 200);
    let media = upload.ready(&app).await;
    let types = [
        "video.media.upload",
        "video.media.created",
        "video.upload.media_created",
        "video.media.ready",
        "video.media.source.ready",
        "video.media.updated",
        "video.media.optimizeAudio.ready",
    ];
    let bodies = bodies(&app, &types).await;
    insta::assert_snapshot!(golden(&app, &upload, &bodies));
    assert_eq!(bodies[3]["data"]["playbackIds"], media["playbackIds"]);
    assert!(bodies.iter().all(|body| body["object"]["id"] == upload.id.as_str()));
}

#[tokio::test]
async fn upload_in_one_request() {
    let app = TestApp::start().await;
    let upload = Upload::new(&app).await;
    assert_eq!(upload.request(&app, "PUT").body(fixture::two_seconds()).send().await.status, 200);
    upload.ready(&app).await;
    let types =
        ["video.media.upload", "video.media.created", "video.upload.media_created", "video.media.ready"];
    bodies(&app, &types).await;
}

#[tokio::test]
async fn upload_cancelled_before_and_after_its_first_byte() {
    let app = still().await;
    let upload = Upload::with(&app, json!({"pushMediaSettings": {"metadata": {"season": "2"}}})).await;
    assert_eq!(upload.cancel(&app).await.status, 200);
    assert_eq!(upload.cancel(&app).await.status, 400);
    let events = bodies(&app, &["video.media.upload", "video.media.upload.cancelled"]).await;
    insta::assert_snapshot!(golden(&app, &upload, &events[1..]));

    let app = TestApp::start().await;
    let upload = Upload::new(&app).await;
    assert_eq!(upload.chunk(&app, &fixture::two_seconds(), 0..5000).send().await.status, 308);
    assert_eq!(app.get(&upload.id).await.data()["status"], "Created");
    assert_eq!(upload.cancel(&app).await.status, 200);
    assert_eq!(app.get(&upload.id).await.status, 404);
    let types = ["video.media.upload", "video.media.created", "video.media.upload.cancelled"];
    let events = bodies(&app, &types).await;
    assert_eq!(events[2]["data"]["status"], "uploading", "the state before the cancellation");
}

#[tokio::test]
async fn upload_that_is_not_media() {
    let app = TestApp::start().await;
    let upload = Upload::new(&app).await;
    let refused = upload.request(&app, "PUT").body(fixture::not_media::html()).send().await;
    assert_eq!(refused.refusal().0, 422, "{refused:?}");
    let media = app.wait_settled(&upload.id).await;
    assert_eq!((&media["status"], &media["error"]["code"]), (&json!("Failed"), &json!("not_media")));
    let posted = app.posts(HOOK, 3).await;
    app.all_delivered().await;
    let types: Vec<_> = app.receiver.posted().iter().map(ReceivedPost::event_type).collect();
    assert_eq!(types[..2], ["video.media.upload", "video.media.created"]);
    assert_eq!(types.iter().filter(|of| *of == "video.media.failed").count(), 1, "{types:?}");
    assert_eq!(types.last().map(String::as_str), Some("video.media.failed"), "{types:?}");
    assert_eq!(posted.last().expect("there are some").json()["object"]["id"], upload.id.as_str());
}

#[tokio::test]
async fn upload_timed_out_after_some_bytes() {
    let clock = MovableClock::default();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let begun = Upload::with(&app, json!({"timeout": 60})).await;
    assert_eq!(begun.chunk(&app, &fixture::two_seconds(), 0..5000).send().await.status, 308);
    bodies(&app, &["video.media.upload", "video.media.created"]).await;
    // The check of uploads may run some time after the timeout.
    clock.advance_seconds(600);
    let media = app.wait_settled(&begun.id).await;
    assert_eq!((&media["status"], &media["error"]["code"]), (&json!("Failed"), &json!("upload_timed_out")));
    bodies(&app, &["video.media.upload", "video.media.created", "video.media.failed"]).await;
    assert_eq!(begun.listed(&app).await.expect("no file came of it")["status"], "timedout");
    let late = begun.chunk(&app, &fixture::two_seconds(), 5000..6000).send().await;
    assert_eq!(late.refusal(), (410, "gone".to_owned()));
}

#[tokio::test]
async fn upload_timed_out_without_bytes() {
    let clock = MovableClock::default();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let upload = Upload::with(&app, json!({"timeout": 60})).await;
    bodies(&app, &["video.media.upload"]).await;
    clock.advance_seconds(61);
    let late = upload.request(&app, "PUT").body(fixture::two_seconds()).send().await;
    assert_eq!(late.refusal(), (410, "gone".to_owned()));
    assert_eq!(upload.listed(&app).await.expect("no file came of it")["status"], "timedout");
    assert_eq!(app.get(&upload.id).await.status, 404, "there was never a media");
    bodies(&app, &["video.media.upload"]).await;
}

#[tokio::test]
async fn media_deleted_during_its_upload() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, long());
    let stalled = upload.stall_after_first_bytes(&app, upload.chunk(&app, &file, 0..file.len())).await;
    assert_eq!(app.delete(&upload.id).await.status, 200);
    drop(stalled);
    let types =
        ["video.media.upload", "video.media.created", "video.media.upload.cancelled", "video.media.deleted"];
    bodies(&app, &types).await;
    assert_eq!(upload.chunk(&app, &file, 0..10).send().await.status, 410);
    assert_eq!(upload.listed(&app).await.expect("no file came of it")["status"], "cancelled");
}
