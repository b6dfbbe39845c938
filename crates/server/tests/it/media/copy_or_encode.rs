//! Media that do not play as a copy: ready once the first segment of their smallest rendition exists.

use bytes::Bytes;
use kinora_testkit::fixture;
use serde_json::{Value, json};

use crate::support::{TestApp, text};

/// The names of the renditions that a report lists with this method.
fn reported<'a>(report: &'a Value, method: &str) -> Vec<&'a str> {
    let renditions = report["renditions"].as_array().expect("a list").iter();
    renditions
        .filter(|rendition| rendition["method"] == method)
        .map(|rendition| text(&rendition["name"]))
        .collect()
}

/// The reasons why no track of a type is copied: type, reason and detail.
fn why(report: &Value) -> Vec<(&str, &str, &str)> {
    let list = report["notCopied"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    list.map(|track| (text(&track["type"]), text(&track["reason"]), text(&track["detail"]))).collect()
}

/// The expected report: why tracks are not copied, which renditions are encoded, which are copied.
struct Expected<'a> {
    why: &'a [(&'a str, &'a str, &'a str)],
    encoded: &'a [&'a str],
    copied: &'a [&'a str],
}

/// Checks a media that is ready with its first segment: its report matches its manifest.
async fn check(name: &str, file: Bytes, fields: Value, expected: Expected<'_>) {
    let app = TestApp::start().await;
    let media = app.ready_with(name, file, fields).await;
    let report = &media["playbackReport"];
    assert_eq!(
        (why(report).as_slice(), &*reported(report, "encoded")),
        (expected.why, expected.encoded),
        "{name}"
    );
    assert_eq!(reported(report, "copied"), expected.copied, "{name}");
    app.event("video.media.ready").await;

    let made = app.objects().await.into_iter().filter(|path| path.starts_with("segment/")).count();
    assert!(made >= 1, "{name}: nothing was made before it was ready");

    let manifest = app.fetch(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]))).await.text();
    let is_video = |name: &str| name.ends_with('p') || name == "video";
    let listed = [expected.encoded, expected.copied].concat();
    for rendition in listed.iter().filter(|name| is_video(name)) {
        assert!(manifest.contains(&format!("/{rendition}/playlist.m3u8")), "{name}: {rendition}\n{manifest}");
    }
    assert_eq!(manifest.contains("/video/playlist.m3u8"), expected.copied.contains(&"video"), "{name}");
}

#[tokio::test]
async fn source_above_max_resolution_is_encoded() {
    let above = &[("video", "above_max_resolution", "above maxResolution")];
    let rungs = ["480p", "360p", "240p"];
    check(
        "/large.mp4",
        fixture::quad_hd(),
        json!({"maxResolution": "480p"}),
        Expected { why: above, encoded: &rungs, copied: &[] },
    )
    .await;
}

#[tokio::test]
async fn vp9_and_opus_in_webm_are_encoded() {
    let why = &[("video", "codec", "VP9"), ("audio", "codec", "Opus")];
    check(
        "/a.webm",
        fixture::vp9_webm(),
        json!({}),
        Expected { why, encoded: &["240p", "aac"], copied: &[] },
    )
    .await;
}

#[tokio::test]
async fn alac_audio_is_encoded_and_video_copied() {
    let why = &[("audio", "codec", "ALAC")];
    check("/a.mp4", fixture::alac(), json!({}), Expected { why, encoded: &["aac"], copied: &["video"] })
        .await;
}

#[tokio::test]
async fn open_gop_h264_is_encoded() {
    let why = &[("video", "open_gop", "open GOP")];
    let expected = Expected { why, encoded: &["240p"], copied: &["audio"] };
    check("/a.mp4", fixture::open_gop(), json!({}), expected).await;
}
