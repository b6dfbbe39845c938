//! `POST /on-demand`: accepted requests and their responses.
//!
//! `clients.rs` has the requests of published clients.

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::update::events_of_type;
use crate::support::{DEADLINE, TestApp, text};

#[tokio::test]
async fn create_response_echoes_settings() {
    let app = TestApp::start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()));
    let body = json!({
        "inputs": [{"type": "video", "url": url}],
        "metadata": {"season": "2", "é": "ü"},
        "title": "A title",
        "creatorId": "creator-1",
        "accessPolicy": "private",
        "maxResolution": "2160p",
        "mediaQuality": "pro",
        "sourceAccess": true,
        "optimizeAudio": true,
        "mp4Support": "none",
        "unknown": {"is": "ignored"},
    });
    let full = app.call("POST", "/v1/on-demand").json(&body).send().await;
    insta::assert_snapshot!("whole", app.golden().json(&full.json()));
    let least = json!({"inputs": [{"type": "video", "url": url}]});
    let least = app.call("POST", "/on-demand").json(&least).send().await;
    insta::assert_snapshot!("least", app.golden().answer(&least));
    for answer in [full, least] {
        assert_eq!(answer.status, 201);
        app.wait_settled(text(&answer.data()["id"])).await;
    }
}

#[tokio::test]
async fn json_content_type_may_have_charset_or_be_missing() {
    let app = TestApp::options().allow_loopback(false).start().await;
    let body = json!({"inputs": [{"type": "video", "url": "http://127.0.0.1/a.mp4"}]}).to_string();
    for content_type in ["application/json; charset=utf-8", "Application/JSON"] {
        let request = app.call("POST", "/on-demand").header("Content-Type", content_type);
        assert_eq!(request.body(body.clone()).send().await.status, 201, "{content_type}");
    }
    // Some files begin with a byte order mark (RFC 8259, 8.1). Inside the text it is invalid.
    let marked = |front: &str| app.call("POST", "/on-demand").body(format!("{front}{body}"));
    assert_eq!(marked("\u{feff}").send().await.status, 201);
    assert_eq!(marked("\u{feff}\u{feff}").send().await.status, 400);
    assert_eq!(app.call("POST", "/on-demand").body(body).send().await.status, 201);
}

#[tokio::test]
async fn unsupported_setting_is_rejected_when_result_would_differ() {
    let app = TestApp::start().await;
    let video = json!({"type": "video", "url": "https://example.com/a.mp4", "startTime": 0, "endTime": 60});
    let watermark = json!({"type": "watermark", "url": "https://example.com/logo.png",
        "placement": {"xAlign": "left", "xMargin": "10%", "yAlign": "top", "yMargin": "10%"}});
    // The sample of this body in the specification.
    let body = json!({
        "inputs": [video, watermark],
        "metadata": {"key1": "value1"},
        "createSubtitles": {"name": "english", "metadata": {"key1": "value1"}, "languageCode": "en-us"},
        "accessPolicy": "drm",
        "mp4Support": "capped_4k",
        "optimizeAudio": true,
        "maxResolution": "1080p",
    });
    let refused = app.call("POST", "/v1/on-demand").json(&body).send().await;
    assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()));
    insta::assert_snapshot!(app.golden().json(&refused.json()));
}

/// Databases store no NUL in a text, so responses and events show the stored form.
#[tokio::test]
async fn create_response_shows_stored_text() {
    let app = TestApp::start().await;
    let fields = json!({"title": "a\0b", "creatorId": "\0", "metadata": {"k\0": "\0v"}});
    let stored = json!(["a\u{fffd}b", "\u{fffd}", {"k\u{fffd}": "\u{fffd}v"}]);
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), fields).await;
    assert_eq!(json!([media["title"], media["creatorId"], media["metadata"]]), stored);
    for event_type in ["video.media.created", "video.media.ready"] {
        assert_eq!(events_of_type(&app, event_type).await[0]["data"]["metadata"], stored[2], "{event_type}");
    }
    let listed =
        app.call("GET", "/v1/on-demand?metadata[k%00]=%00v&creatorId=%00&title=A%00").send().await.data();
    assert_eq!(listed[0]["id"], media["id"]);
}

#[tokio::test]
async fn same_url_twice_creates_separate_media() {
    let app = TestApp::start().await;
    let first = app.ready("/a.mp4", fixture::two_seconds()).await;
    let second = app.ready("/a.mp4", fixture::two_seconds()).await;
    assert_ne!(first["id"], second["id"]);
    assert_ne!(first["playbackIds"][0]["id"], second["playbackIds"][0]["id"]);
    let ready = app
        .receiver
        .wait_for(DEADLINE, |posted| {
            posted.iter().filter(|post| post.event_type() == "video.media.ready").count() == 2
        })
        .await;
    let mut event_ids: Vec<Value> = ready.iter().map(|post| post.json()["object"]["id"].clone()).collect();
    event_ids.dedup();
    assert!(event_ids.contains(&first["id"]) && event_ids.contains(&second["id"]));
}
