//! One media with every field of the published `POST /on-demand`, except generated subtitles.

use kinora_testkit::fixture::images;
use kinora_testkit::{Source, fixture};
use serde_json::json;

use super::loudness::{check_heard, measured};
use super::watermark::red_quarters;
use crate::api::mp4_support::{READY as FILES_READY, address, ready_events};
use crate::support::{TestApp, text, until};

#[tokio::test]
async fn every_field_together_plays_as_it_says() {
    let app = TestApp::start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::large_two_tracks()));
    let logo = app.serve("/logo.png", Source::of(images::plain_png("red", 64, 36, "")));
    let placement = json!({"xAlign": "right", "xMargin": "0%", "yAlign": "bottom", "yMargin": "0%"});
    let body = json!({
        "inputs": [
            {"type": "video", "url": film, "startTime": 1, "endTime": 5},
            {"type": "watermark", "url": logo, "placement": placement, "width": "50%", "height": "50%"},
        ],
        "metadata": {"season": "2"},
        "accessPolicy": "public",
        "mp4Support": "capped_4k",
        "optimizeAudio": true,
        "maxResolution": "1080p",
    });
    let created = app.call("POST", "/v1/on-demand").json(&body).send().await;
    assert_eq!(created.status, 201, "{created:?}");
    let media = app.wait_settled(text(&created.data()["id"])).await;
    assert_eq!((&media["status"], &media["duration"]), (&json!("Ready"), &json!("00:00:04")), "{media}");
    let levelled = measured(&app, &media).await;
    assert_eq!(levelled["playbackReport"]["optimizeAudio"], "levelled");
    ready_events(&app, 1).await;

    let file = address(&media, "capped-4k.mp4");
    until("the file has levelled audio", async || {
        let answer = app.fetch(&file).await;
        answer.header("etag").is_some_and(|etag| etag.contains("aac-")).then_some(())
    })
    .await;
    let played = format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]));
    for path in [file, played] {
        let url = app.url(&path);
        assert_eq!(red_quarters(&url).await, [false, true], "{path}");
        check_heard(&url, &path).await;
    }

    app.all_delivered().await;
    let types: Vec<_> = app.receiver.posted().iter().map(|post| post.event_type()).collect();
    let (files, others): (Vec<_>, Vec<_>) = types.into_iter().partition(|name| *name == FILES_READY);
    let names = ["created", "ready", "watermark.ready", "updated", "optimizeAudio.ready"];
    assert_eq!(others, names.map(|name| format!("video.media.{name}")));
    assert_eq!(files.len(), 1);
}
