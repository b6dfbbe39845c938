//! Sources that are damaged in the middle or at the end: the rest plays, and the report describes the
//! damage.

use std::ffi::OsStr;

use kinora_testkit::{Source, fixture};
use serde_json::Value;

use super::probe::decoded;
use super::stream::Stream;
use crate::support::{TestApp, text, until};

#[tokio::test]
async fn undecodable_frame_repeats_previous_frame() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::damaged::undecodable_frames()).await;
    let id = text(&media["playbackIds"][0]["id"]);
    let played = Stream::fetch(&app, id).await.video.expect("it has video");
    assert!((played.seconds() - 8.0).abs() < 0.001, "{} s", played.seconds());
    // Whole seconds, and the keyframes of the rest; sometimes a decoder decodes noise as a frame.
    let found = decoded(OsStr::new(&app.url(&format!("/{id}.m3u8"))), "v:0").await.expect("it has video");
    assert!((104..130).contains(&found.frames), "{} frames", found.frames);
}

#[tokio::test]
async fn partly_undecodable_file_plays_in_part_and_is_reported() {
    let app = TestApp::options().without_webhook().start().await;
    // Frames of its 32 s: 16 s in the middle, and 12 s at the start.
    for (path, lost) in [("/middle.mp4", 200..600), ("/beginning.mp4", 0..300)] {
        let media = app.ready(path, fixture::damaged::missing_frames(lost.clone())).await;
        let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
        let names = |media: &Value| media["playbackReport"]["renditions"][0]["name"].clone();
        let played = Stream::fetch(&app, playback).await.video.expect("it has video");
        assert!((played.seconds() - 32.0).abs() < 0.001, "{path}: {} s", played.seconds());
        let found =
            decoded(OsStr::new(&app.url(&format!("/{playback}.m3u8"))), "v:0").await.expect("it plays");
        let remaining = 800 - lost.len() as u64;
        // Each segment without decodable frames repeats one frame.
        assert!((remaining + 1..remaining + 12).contains(&found.frames), "{path}: {} frames", found.frames);

        let broken = serde_json::json!(["240p in part"]);
        let updated = until("the report tells it", async || {
            let media_now = app.get(id).await.data();
            (media_now["playbackReport"]["broken"] == broken).then_some(media_now)
        })
        .await;
        assert_eq!((names(&updated), names(&media)), ("240p".into(), "240p".into()), "{updated}");
        let manifest = app.fetch(&format!("/{playback}.m3u8")).await.text();
        assert!(manifest.contains("/240p/playlist.m3u8"), "{manifest}");
    }
}

#[tokio::test]
async fn completely_undecodable_file_fails() {
    let app = TestApp::options().without_webhook().start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::damaged::missing_frames(0..800)));
    let media = app.wait_settled(text(&app.create(&url).await["id"])).await;
    assert_eq!(media["status"], "Failed", "{media}");
}

#[tokio::test]
async fn changing_frame_size_is_encoded_at_one_size() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.ts", fixture::containers::transport_stream_that_changes_size()).await;
    let why = &media["playbackReport"]["notCopied"][0];
    assert_eq!(why["reason"], "format_changes", "{media}");
    assert_eq!(why["detail"], "the video changes its frame size");
    let manifest = app.url(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    let found = decoded(OsStr::new(&manifest), "v:0").await.expect("it has video");
    assert_eq!((found.frames, found.shape), (100, (160, 90)));
}

#[tokio::test]
async fn truncated_file_of_any_container_is_reported() {
    use fixture::{containers, damaged::sixty_percent};

    let app = TestApp::options().without_webhook().start().await;
    let files = [
        containers::transport_stream(),
        containers::avi(),
        containers::flv(),
        containers::wmv(),
        containers::ogg(),
        containers::flac(),
    ];
    let mut media = Vec::new();
    for (number, file) in files.into_iter().enumerate() {
        let url = app.serve(&format!("/{number}"), Source::of(sixty_percent(file)));
        media.push(text(&app.create(&url).await["id"]).to_owned());
    }
    for (number, id) in media.iter().enumerate() {
        let cut = app.wait_settled(id).await;
        assert_eq!(
            (&cut["status"], &cut["playbackReport"]["source"]),
            (&"Ready".into(), &"truncated".into()),
            "{number}: {cut}"
        );
    }
}

#[tokio::test]
async fn mp3_audio_ends_without_encoder_padding() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp3", fixture::containers::mp3()).await;
    let played = Stream::fetch(&app, text(&media["playbackIds"][0]["id"])).await.audio.expect("it has audio");
    let frame = 1024.0 / 48_000.0;
    assert!((2.0..2.0 + frame).contains(&played.announced()), "{} s", played.announced());
}
