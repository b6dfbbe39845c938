//! A media as a single file: ffprobe finds the content of the source in it, and an event follows when
//! encoded files are ready.

use kinora_domain::PresentationId;
use std::ffi::OsStr;

use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::probe::{decoded, hashes, packets};
use crate::api::mp4_support::{address, ready_events, set_mp4_support};
use crate::support::{TestApp, text, until};

const BOTH: &str = "audioOnly,capped_4k";
const MP4: &str = "capped-4k.mp4";
const M4A: &str = "audio.m4a";

/// A media whose files are ready.
async fn with_files(app: &TestApp, path: &str, bytes: bytes::Bytes, fields: Value) -> Value {
    let mut settings = json!({"mp4Support": BOTH});
    settings.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let media = app.ready_with(path, bytes, settings).await;
    ready_events(app, 1).await;
    media
}

#[tokio::test]
async fn mp4_and_m4a_of_copied_source_have_identical_packets() {
    for (name, bytes) in [
        ("two_seconds", fixture::two_seconds()),
        ("moov_at_end", fixture::moov_at_end()),
        ("fragmented", fixture::fragmented()),
        ("rotated", fixture::rotated()),
        ("recording", fixture::recording()),
    ] {
        let app = TestApp::start().await;
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        std::fs::write(&source, &bytes).unwrap();
        let media = with_files(&app, "/a", bytes, json!({})).await;
        let [mp4, m4a] = [MP4, M4A].map(|file| app.url(&address(&media, file)));
        for (file, stream) in [(&mp4, "v:0"), (&mp4, "a:0"), (&m4a, "a:0")] {
            let (actual, expected) =
                (hashes(OsStr::new(file), stream).await, hashes(source.as_os_str(), stream).await);
            assert_eq!(actual, expected, "{name} {stream}");
            let (ours, theirs) =
                (decoded(OsStr::new(file), stream).await, decoded(source.as_os_str(), stream).await);
            let facts = |stream: Option<super::probe::Stream>| {
                stream.map(|stream| (stream.shape, stream.rotation, stream.codec))
            };
            assert_eq!(facts(ours), facts(theirs), "{name} {stream}");
        }
        assert!(decoded(OsStr::new(&m4a), "v:0").await.is_none(), "{name}");
    }
}

#[tokio::test]
async fn mp4_of_uncopied_source_is_encoded_before_ready_event() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mkv", fixture::not_copied_small()).await;
    let updated = set_mp4_support(&app, &media, BOTH).await;
    assert_eq!(updated.status, 200, "{updated:?}");
    // Before it is ready, the response announces it.
    let early = app.fetch(&address(&media, MP4)).await;
    if early.status != 200 {
        assert_eq!(early.refusal(), (404, "file is not ready".to_owned()));
        assert_eq!(early.header("retry-after"), Some("10"));
    }
    ready_events(&app, 1).await;
    let [mp4, m4a] = [MP4, M4A].map(|file| app.url(&address(&media, file)));
    let video = decoded(OsStr::new(&mp4), "v:0").await.expect("it has video");
    // 4 s at 25 frames per second.
    assert_eq!((video.frames, video.shape), (100, (160, 90)));
    assert!(video.codec.starts_with("avc1."), "{}", video.codec);
    for file in [&mp4, &m4a] {
        let audio = decoded(OsStr::new(file), "a:0").await.expect("it has audio");
        assert_eq!((audio.codec.as_str(), audio.shape), ("mp4a.40.2", (2, 48_000)));
    }
    let (packets, timescale) = packets(OsStr::new(&mp4), "v:0").await;
    let mut shown: Vec<_> = packets.iter().map(|packet| packet.pts * 25 / timescale).collect();
    shown.sort_unstable();
    assert_eq!(shown, (0..100).collect::<Vec<_>>(), "each frame at its own time");

    // Every range is that range of the whole file, across the joined parts.
    let full = app.fetch(&address(&media, MP4)).await;
    assert_eq!(full.status, 200);
    let len = full.body.len();
    for (from, to) in [(0, 9), (len / 3, len / 2), (len - 7, len - 1)] {
        let range = format!("bytes={from}-{to}");
        let part = app.request("GET", &address(&media, MP4)).header("Range", &range).send().await;
        assert_eq!((part.status, &part.body), (206, &full.body.slice(from..=to)), "{range}");
    }
    // A disabled file is deleted, with the segments encoded for it.
    let joined = async || app.objects().await.len();
    let before = joined().await;
    assert_eq!(set_mp4_support(&app, &media, "none").await.status, 200);
    assert_eq!(app.fetch(&address(&media, MP4)).await.status, 404);
    until("the joined files are removed", async || (joined().await == before - 2).then_some(())).await;
    assert_eq!(set_mp4_support(&app, &media, "audioOnly").await.status, 200);
    ready_events(&app, 2).await;
    assert_eq!(app.fetch(&address(&media, M4A)).await.status, 200);
}

#[tokio::test]
async fn failed_mp4_reports_error_until_requested_again() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mkv", fixture::not_copied_small()).await;
    set_mp4_support(&app, &media, "audioOnly").await;
    ready_events(&app, 1).await;
    let stored = app.store.media_by_id(text(&media["id"]).parse().unwrap()).await.unwrap().unwrap();
    let source = stored.source().unwrap();
    let joined_audio =
        async || app.store.rendition_named(PresentationId::of(source), "aac whole").await.unwrap();
    let (first, now) = (joined_audio().await.expect("it was joined").id, stored.updated_at);
    app.store.write(async move |tx| tx.set_rendition_broken(first, now).await).await.unwrap();
    let refused = app.fetch(&address(&media, M4A)).await;
    assert_eq!(refused.refusal(), (404, "not found".to_owned()));
    assert!(refused.text().contains("this file cannot be created from the media"), "{refused:?}");
    let updated = app.get(text(&media["id"])).await.data();
    assert_eq!(updated["playbackReport"]["broken"], Value::Null, "it plays as before");

    set_mp4_support(&app, &media, "none").await;
    set_mp4_support(&app, &media, "audioOnly").await;
    ready_events(&app, 2).await;
    assert_eq!(app.fetch(&address(&media, M4A)).await.status, 200);
    assert_ne!(joined_audio().await.expect("it was joined anew").id, first);
}

#[tokio::test]
async fn mp4_of_source_above_max_resolution_is_encoded() {
    let app = TestApp::start().await;
    let media =
        with_files(&app, "/a.mp4", fixture::large_two_tracks(), json!({"maxResolution": "480p"})).await;
    let copy = decoded(OsStr::new(&app.url(&address(&media, MP4))), "v:0").await.expect("it has video");
    assert_eq!((copy.frames, copy.shape), (300, (480, 270)), "it is copied where it fits");
    let full = app.fetch(&address(&media, MP4)).await;
    let head = app.request("HEAD", &address(&media, MP4)).send().await;
    assert_eq!(head.header("content-length"), Some(&*full.body.len().to_string()));
    assert_eq!((head.body.len(), head.header("etag")), (0, full.header("etag")));
}

#[tokio::test]
async fn deleted_media_leaves_no_mp4_objects() {
    let app = TestApp::start().await;
    let media = with_files(&app, "/a.mkv", fixture::not_copied_small(), json!({})).await;
    assert_eq!(app.fetch(&address(&media, MP4)).await.status, 200);
    assert_eq!(app.delete(text(&media["id"])).await.status, 200);
    until("all of it is removed", async || {
        let remaining = app.objects().await;
        remaining.iter().all(|object| object.starts_with("owner/")).then_some(())
    })
    .await;
    assert_eq!(app.fetch(&address(&media, MP4)).await.status, 404);
}
