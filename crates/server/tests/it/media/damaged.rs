//! Sources that are broken in the middle or at the end: what is left plays, and the owner is told what can be
//! told.

use std::ffi::OsStr;

use kinora_testkit::{Source, fixture};
use serde_json::Value;

use super::probe::decoded;
use super::stream::Stream;
use crate::support::{TestApp, text, until};

#[tokio::test]
async fn a_picture_that_does_not_decode_leaves_the_one_before_standing() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::damaged::broken_pictures()).await;
    let id = text(&media["playbackIds"][0]["id"]);
    let played = Stream::fetch(&app, id).await.video.expect("it has pictures");
    assert!((played.seconds() - 8.0).abs() < 0.001, "{} s", played.seconds());
    // Whole seconds, and of the rest the keyframes; now and then a decoder takes noise for a picture.
    let found = decoded(OsStr::new(&app.url(&format!("/{id}.m3u8"))), "v:0").await.expect("it has pictures");
    assert!((104..130).contains(&found.frames), "{} pictures", found.frames);
}

#[tokio::test]
async fn a_file_that_decodes_in_part_plays_in_part_and_says_so() {
    let app = TestApp::options().without_webhook().start().await;
    // Of its 32 s: 16 in the middle, and 12 at the beginning.
    for (path, lost) in [("/middle.mp4", 200..600), ("/beginning.mp4", 0..300)] {
        let media = app.ready(path, fixture::damaged::lost_pictures(lost.clone())).await;
        let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
        let names = |media: &Value| media["playbackReport"]["renditions"][0]["name"].clone();
        let played = Stream::fetch(&app, playback).await.video.expect("it has pictures");
        assert!((played.seconds() - 32.0).abs() < 0.001, "{path}: {} s", played.seconds());
        let found =
            decoded(OsStr::new(&app.url(&format!("/{playback}.m3u8"))), "v:0").await.expect("it plays");
        let left = 800 - lost.len() as u64;
        // In each segment without a picture one stands still.
        assert!((left + 1..left + 12).contains(&found.frames), "{path}: {} pictures", found.frames);

        let broken = serde_json::json!(["240p in part"]);
        let told = until("the report tells it", async || {
            let told = app.get(id).await.data();
            (told["playbackReport"]["broken"] == broken).then_some(told)
        })
        .await;
        assert_eq!((names(&told), names(&media)), ("240p".into(), "240p".into()), "{told}");
        let manifest = app.fetch(&format!("/{playback}.m3u8")).await.text();
        assert!(manifest.contains("/240p/playlist.m3u8"), "{manifest}");
    }
}

#[tokio::test]
async fn a_file_of_which_nothing_decodes_fails() {
    let app = TestApp::options().without_webhook().start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::damaged::lost_pictures(0..800)));
    let media = app.wait_settled(text(&app.create(&url).await["id"])).await;
    assert_eq!(media["status"], "Failed", "{media}");
}

#[tokio::test]
async fn a_picture_that_changes_its_size_is_encoded_in_one() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.ts", fixture::packed::transport_stream_that_changes_size()).await;
    let why = &media["playbackReport"]["notCopied"][0];
    assert_eq!(why["reason"], "format_changes", "{media}");
    assert_eq!(why["detail"], "the picture changes size");
    let manifest = app.url(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    let found = decoded(OsStr::new(&manifest), "v:0").await.expect("it has pictures");
    assert_eq!((found.frames, found.shape), (100, (160, 90)));
}

#[tokio::test]
async fn a_source_in_another_container_that_was_cut_off_says_so() {
    use fixture::{damaged::sixty_percent, packed};

    let app = TestApp::options().without_webhook().start().await;
    let files = [
        packed::transport_stream(),
        packed::avi(),
        packed::flv(),
        packed::wmv(),
        packed::ogg(),
        packed::flac(),
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
async fn sound_of_mp3_ends_where_it_was_meant_to() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp3", fixture::packed::mp3()).await;
    let played = Stream::fetch(&app, text(&media["playbackIds"][0]["id"])).await.audio.expect("it sounds");
    let frame = 1024.0 / 48_000.0;
    assert!((2.0..2.0 + frame).contains(&played.announced()), "{} s", played.announced());
}
