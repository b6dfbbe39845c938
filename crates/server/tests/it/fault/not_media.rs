//! Sources that contain no supported media.

use kinora_testkit::{Source, SourceServer, fixture};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::clock::TestClock;
use super::drain::drain;
use super::events;
use crate::support::{TestApp, text};

/// A source and its expected error.
struct Case {
    what: &'static str,
    bytes: bytes::Bytes,
    /// Additional fields of the request.
    fields: Value,
    code: &'static str,
    sentence: &'static str,
}

/// Runs all cases concurrently on one server.
///
/// Each fails once, with its code and a sentence, and leaves no object.
async fn check(cases: Vec<Case>) -> TestApp {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let mut media = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let url = app.serve(&format!("/{number}"), Source::of(case.bytes.clone()));
        let created = app.create_with(&url, case.fields.clone()).await;
        media.push(text(&created["id"]).to_owned());
    }
    for (case, id) in cases.iter().zip(&media) {
        let failed = app.wait_settled(id).await;
        let found = (text(&failed["status"]), &failed["error"]["code"], &failed["error"]["message"]);
        assert_eq!(found, ("Failed", &case.code.into(), &case.sentence.into()), "{}", case.what);
    }
    drain(&app, &clock).await;
    let events_by_media = events::by_media(&app.receiver);
    for (case, id) in cases.iter().zip(&media) {
        assert_eq!(events_by_media[id], ["video.media.created", "video.media.failed"], "{}", case.what);
    }
    assert_eq!(app.objects().await, [""; 0]);
    app
}

fn case(what: &'static str, bytes: bytes::Bytes, code: &'static str, sentence: &'static str) -> Case {
    Case { what, bytes, fields: json!({}), code, sentence }
}

#[tokio::test]
async fn not_media_error_names_the_detected_file_type() {
    use fixture::not_media::{empty, html, png, text};
    check(vec![
        case("a page", html(), "not_media", "the source is a web page, not a video or audio file"),
        case("a text", text(), "not_media", "the source is a text file, not a video or audio file"),
        case("a picture", png(), "not_media", "the source is a PNG image, not a video or audio file"),
        case("nothing", empty(), "not_media", "the source is an empty file, not a video or audio file"),
    ])
    .await;
}

#[tokio::test]
async fn nested_playlists_and_scripts_are_not_opened() {
    use fixture::not_media::{ffconcat, hls_playlist, sdp, svg};
    let canary = SourceServer::start().await;
    let url = canary.serve("/canary.ts", Source::of("canary"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("canary.txt");
    std::fs::write(&file, "canary").unwrap();
    let path = file.to_str().expect("a path of ours is UTF-8");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();

    let app = check(vec![
        case(
            "a playlist of an address",
            hls_playlist(&url),
            "not_media",
            "the source is an HLS playlist, not a video or audio file",
        ),
        case(
            "a playlist of a file",
            hls_playlist(path),
            "not_media",
            "the source is an HLS playlist, not a video or audio file",
        ),
        case(
            "a concat script",
            ffconcat(path),
            "not_media",
            "the source is an ffconcat script, not a video or audio file",
        ),
        case(
            "a session description",
            sdp("127.0.0.1", port),
            "not_media",
            "the source is an SDP session description, not a video or audio file",
        ),
        case("a drawing", svg(&url), "not_media", "the source is an SVG image, not a video or audio file"),
    ])
    .await;
    assert_eq!(canary.requests("/canary.ts").len(), 0);
    let connection = tokio::select! {
        biased;
        connection = listener.accept() => Some(connection),
        () = std::future::ready(()) => None,
    };
    assert!(connection.is_none(), "{connection:?}");
    for failed in app.receiver.distinct_events("video.media.failed") {
        let error = failed.json()["data"]["error"].to_string();
        assert!(!error.contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn container_without_playable_content_fails_and_leaves_no_copy() {
    use fixture::containers::{mp3_of_noise, transport_stream_of_noise};
    check(vec![
        case(
            "packets of nothing",
            transport_stream_of_noise(),
            "not_media",
            "the source looks like a mpegts file, but it has no track that can be played",
        ),
        case(
            "a tag without sound",
            mp3_of_noise(),
            "not_media",
            "the source looks like a mp3 file, but it has no track that can be played",
        ),
    ])
    .await;
}

#[tokio::test]
async fn media_that_end_too_early_fail_as_truncated() {
    use fixture::damaged::{truncated_before_the_first_frame, truncated_without_moov};
    check(vec![
        case(
            "without moov",
            truncated_without_moov(),
            "truncated",
            "the file ends too early: its movie header (moov) is missing",
        ),
        case(
            "without a frame",
            truncated_before_the_first_frame(),
            "truncated",
            "the file ends too early: less than a second of it can be played",
        ),
    ])
    .await;
}

#[tokio::test]
async fn undecodable_video_to_encode_is_codec_unsupported() {
    let mut file = fixture::quad_hd().to_vec();
    let samples = file.windows(4).position(|bytes| bytes == b"mdat").expect("there are samples") + 4;
    file[samples..].fill(0);
    let sentence = "the video of the source cannot be decoded";
    check(vec![case("overwritten", file.into(), "codec_unsupported", sentence)]).await;
}

#[tokio::test]
async fn source_at_max_resolution_is_ready() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready_with("/a.mp4", fixture::quad_hd(), json!({"maxResolution": "1440p"})).await;
    assert_eq!(media["sourceResolution"], "1440p");
}

#[tokio::test]
async fn truncated_fragmented_recording_is_ready_and_reported() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::damaged::truncated_recording()).await;
    assert_eq!(media["playbackReport"]["source"], "truncated");
    assert_eq!(media["duration"], "00:00:18");
}

#[tokio::test]
async fn truncated_faststart_source_is_ready_and_reported() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::damaged::truncated()).await;
    assert_eq!(media["playbackReport"]["source"], "truncated");
    assert_eq!(media["duration"], "00:00:18");
    let event = app.event("video.media.ready").await;
    assert_eq!(event["data"]["duration"], media["duration"]);
    assert_eq!(event["data"]["playbackReport"], Value::Null);
}
