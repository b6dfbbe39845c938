//! `GET /on-demand/{mediaId}`: a media in each of its visible states.

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use crate::support::{DEADLINE, TestApp, text, until};

#[tokio::test]
async fn media_is_readable_in_every_state() {
    let app = TestApp::start().await;
    let fields = json!({"title": "A title", "creatorId": "creator-1", "metadata": {"season": "2"}});
    let url = app.serve("/slow.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let media = app.create_with(&url, fields).await;
    let id = text(&media["id"]).to_owned();

    app.sources.wait_until_held("/slow.mp4", DEADLINE).await;
    let downloading = app.get(&id).await.json();
    insta::assert_snapshot!("downloading", app.golden().json(&downloading));

    app.sources.release("/slow.mp4");
    let ready = app.wait_settled(&id).await;
    insta::assert_snapshot!("ready", app.golden().json(&ready));
    // Both prefixes, repeatedly: the same bytes.
    let bare = app.call("GET", &format!("/on-demand/{id}")).send().await;
    assert_eq!(bare.body, app.get(&id).await.body);
    insta::assert_snapshot!("ready_on_the_wire", app.golden().answer(&bare));
    let changed = |name: &str| downloading["data"][name] != ready[name];
    assert!(changed("updatedAt") && !changed("createdAt"));
}

#[tokio::test]
async fn failed_media_has_its_error() {
    let app = TestApp::start().await;
    let url = app.serve("/page", Source::of(fixture::not_media::html()).content_type("video/mp4"));
    let media = app.create(&url).await;
    let failed = app.wait_settled(text(&media["id"])).await;
    insta::assert_snapshot!(app.golden().json(&failed));
}

#[tokio::test]
async fn audio_only_media_has_no_thumbnail() {
    let app = TestApp::start().await;
    let media = app.ready("/a.m4a", fixture::audio_only()).await;
    insta::assert_snapshot!(app.golden().json(&media));
}

#[tokio::test]
async fn truncated_source_plays_and_is_reported() {
    let app = TestApp::start().await;
    let media = app.ready("/cut.mp4", fixture::damaged::truncated()).await;
    insta::assert_snapshot!(app.golden().json(&media));
    let ready = app.event("video.media.ready").await;
    assert_eq!(ready["data"]["playbackReport"], Value::Null, "C-31: events do not change");
}

#[tokio::test]
async fn input_info_is_404_until_the_source_is_downloaded() {
    let app = TestApp::start().await;
    let url = app.serve("/slow.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let media = app.create(&format!("{url}?signature=1%2B2")).await;
    let id = text(&media["id"]).to_owned();
    let info = async |id: &str| app.call("GET", &format!("/on-demand/{id}/input-info")).send().await;

    let early = info(&id).await;
    assert_eq!(early.refusal(), (404, "input info not found".to_owned()));
    app.sources.release("/slow.mp4");
    app.wait_settled(&id).await;
    insta::assert_snapshot!("input_info", app.golden().json(&info(&id).await.data()));

    let failing = app.serve("/page", Source::of(fixture::not_media::html()));
    let failed = app.create(&failing).await;
    app.wait_settled(text(&failed["id"])).await;
    assert_eq!(info(text(&failed["id"])).await.status, 404);
    assert_eq!(info("019a492c-41f3-7001-8203-040506070809").await.status, 404);
    assert_eq!(info("42").await.status, 422);
}

#[tokio::test]
async fn delete_is_visible_to_the_next_read() {
    let app = TestApp::start().await;
    for n in 0..5 {
        let media = app.ready(&format!("/{n}.mp4"), fixture::two_seconds()).await;
        let id = text(&media["id"]);
        assert_eq!(app.get(id).await.data(), media);
        assert_eq!(app.delete(id).await.status, 200);
        assert_eq!(app.get(id).await.status, 404, "an answer from before the change");
    }
}

#[tokio::test]
async fn change_by_another_process_is_read() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]).to_owned();
    let media_id = id.parse().unwrap();
    app.store
        .write(async move |tx| {
            let mut media = tx.media_by_id(media_id).await?.expect("it is there");
            media.settings.title = Some("Changed elsewhere".to_owned());
            tx.save_media(&media).await
        })
        .await
        .unwrap();
    until("the change is read", async || {
        (app.get(&id).await.data()["title"] == "Changed elsewhere").then_some(())
    })
    .await;
}
