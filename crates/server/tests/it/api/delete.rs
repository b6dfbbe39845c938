//! `DELETE /on-demand/{mediaId}`: deletes a media and all its objects.

use kinora_testkit::{Source, fixture};

use super::playback::addresses;
use crate::support::{DEADLINE, TestApp, text, until};

#[tokio::test]
async fn delete_removes_every_url_and_object() {
    let app = TestApp::start().await;
    let other = app.ready("/kept.mp4", fixture::two_seconds()).await;
    let before = app.objects().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]);
    let mut addresses = addresses(&app, &media).await;
    addresses.push(format!("/{}/thumbnail.jpg", text(&media["playbackIds"][0]["id"])));
    for address in &addresses {
        assert_eq!(app.fetch(address).await.status, 200, "{address}");
    }

    let deleted = app.delete(id).await;
    insta::assert_snapshot!(app.golden().answer(&deleted));
    assert_eq!(app.get(id).await.refusal(), (404, "media workspace relation not found".to_owned()));
    assert_eq!(app.delete(id).await.refusal(), (404, "media workspace relation not found".to_owned()));
    for address in &addresses {
        assert_eq!(app.fetch(address).await.status, 404, "{address}");
    }

    until("the objects are gone", async || (app.objects().await == before).then_some(())).await;
    assert_eq!(app.get(text(&other["id"])).await.data(), other, "another media is untouched");
    app.event("video.media.deleted").await;
    assert_eq!(app.receiver.distinct_events("video.media.deleted").len(), 1);
}

#[tokio::test]
async fn delete_during_download_leaves_no_objects() {
    let app = TestApp::start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let media = app.create(&url).await;
    let id = text(&media["id"]);
    app.sources.wait_until_held("/a.mp4", DEADLINE).await;
    if !app.ground.is_shared() {
        // A bucket does not show a small object before it is whole.
        until("bytes are arriving", async || (!app.objects().await.is_empty()).then_some(())).await;
    }

    assert_eq!(app.delete(id).await.status, 200);
    assert_eq!(app.get(id).await.status, 404);
    app.sources.release("/a.mp4");
    until("nothing is left", async || app.objects().await.is_empty().then_some(())).await;

    // A later media in the same lane shows that no event of the deleted one is still pending.
    let after = app.ready("/b.mp4", fixture::two_seconds()).await;
    let posted = app
        .receiver
        .wait_for(DEADLINE, |posted| {
            posted.iter().any(|post| {
                post.event_type() == "video.media.ready" && post.json()["object"]["id"] == after["id"]
            })
        })
        .await;
    let mut event_types: Vec<_> = posted
        .iter()
        .filter(|post| post.json()["object"]["id"] == media["id"])
        .map(kinora_testkit::ReceivedPost::event_type)
        .collect();
    event_types.sort();
    assert_eq!(event_types, ["video.media.created", "video.media.deleted"]);
}

#[tokio::test]
async fn failed_media_can_be_deleted() {
    let app = TestApp::start().await;
    let media = app.create(&app.sources.url("/none.mp4")).await;
    assert_eq!(app.wait_settled(text(&media["id"])).await["status"], "Failed");
    assert_eq!(app.delete(text(&media["id"])).await.status, 200);
    assert_eq!(app.get(text(&media["id"])).await.status, 404);
    app.event("video.media.deleted").await;
}
