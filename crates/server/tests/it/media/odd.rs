//! Sources as they are found in the world: what can be played of them plays, and the report names the rest.

use std::ffi::OsStr;

use bytes::Bytes;
use kinora_testkit::Source;
use kinora_testkit::fixture::{self, odd};
use serde_json::{Value, json};

use super::probe::{decoded, heard};
use crate::support::{TestApp, text};

/// Frames of the pictures and of the sound that a player gets.
async fn played(app: &TestApp, media: &Value) -> (Option<u64>, bool) {
    let manifest = app.url(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    let pictures = decoded(OsStr::new(&manifest), "v:0").await.map(|pictures| pictures.frames);
    (pictures, decoded(OsStr::new(&manifest), "a:0").await.is_some_and(|sound| sound.frames > 0))
}

/// The container of the source, as `input-info` names it.
async fn container(app: &TestApp, media: &Value) -> Value {
    let info = app.call("GET", &format!("/v1/on-demand/{}/input-info", text(&media["id"]))).send().await;
    info.data()["file"]["containerFormat"].clone()
}

/// What is left out: the types, each with its sentence.
async fn check(file: Bytes, expected: (Option<u64>, bool), left_out: Value) {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/source", file).await;
    assert_eq!(media["playbackReport"]["leftOut"], left_out, "{media}");
    assert_eq!(played(&app, &media).await, expected);
}

#[tokio::test]
async fn a_transport_stream_that_changes_its_colours_plays_to_its_end() {
    check(odd::transport_stream_that_changes_colours(), (Some(200), false), Value::Null).await;
}

#[tokio::test]
async fn sound_that_cannot_be_decoded_is_left_out() {
    let left_out = |detail: &str| json!([{"type": "audio", "detail": detail}]);
    let cases = [
        (odd::unknown_sound(), "the audio codec is unknown (qxyz), which cannot be decoded"),
        (
            odd::sound_without_description(),
            "the file is damaged: a track uses sample description 1, which is not there",
        ),
        (odd::sound_without_configuration(), "the file is damaged: its AAC configuration cannot be read"),
    ];
    for (file, detail) in cases {
        check(file, (Some(50), false), left_out(detail)).await;
    }
    // Whether this one decodes is known when it was tried.
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/source.mkv", odd::video_beside_unknown_sound_of_windows()).await;
    assert_eq!(media["playbackReport"]["broken"], json!(["aac"]), "{media}");
    assert_eq!(played(&app, &media).await, (Some(100), false));
}

#[tokio::test]
async fn what_the_ffmpeg_at_hand_decodes_plays_and_has_its_name() {
    let app = TestApp::options().without_webhook().start().await;
    for (name, options) in [("G.723.1", "-ar 8000 -ac 1 -c:a g723_1 -b:a 6.3k"), ("PCM", "-c:a pcm_f64le")] {
        let media = app.ready(&format!("/{name}.mkv"), odd::video_beside(options)).await;
        let not_copied = &media["playbackReport"]["notCopied"][0];
        assert_eq!((&not_copied["type"], &not_copied["detail"]), (&json!("audio"), &json!(name)), "{media}");
        assert_eq!(media["playbackReport"]["broken"], Value::Null, "{media}");
        assert_eq!(played(&app, &media).await, (Some(100), true));
    }
}

#[tokio::test]
async fn pictures_that_cannot_be_decoded_leave_the_sound() {
    let left_out =
        json!([{"type": "video", "detail": "the video codec is unknown (qxyz), which cannot be decoded"}]);
    check(odd::unknown_pictures(), (None, true), left_out).await;
}

#[tokio::test]
async fn a_track_that_is_announced_and_never_comes_is_left_out() {
    let left_out = |kind: &str| {
        let detail =
            if kind == "video" { "no video track can be read" } else { "an audio track cannot be read" };
        json!([{"type": kind, "detail": detail}])
    };
    check(odd::transport_stream_without(0x101), (Some(50), false), left_out("audio")).await;
    check(odd::transport_stream_without(0x100), (None, true), left_out("video")).await;
}

#[tokio::test]
async fn packets_of_two_pictures_are_unpacked() {
    check(odd::packed_bitstream("352x240"), (Some(150), false), Value::Null).await;
}

#[tokio::test]
async fn two_fields_are_one_picture() {
    for are_both_timed in [true, false] {
        let app = TestApp::options().without_webhook().start().await;
        let media = app.ready("/fields.ts", odd::fields(are_both_timed)).await;
        assert_eq!(media["frameRate"], "25/1", "{media}");
        assert_eq!(played(&app, &media).await, (Some(50), false));
        let playback = text(&media["playbackIds"][0]["id"]);
        for picture in ["thumbnail.jpg", "thumbnail.jpg?time=1", "spritesheet.jpg"] {
            let answer = app.call("GET", &format!("/{playback}/{picture}")).send().await;
            assert_eq!(answer.status, 200, "{picture}");
        }
    }
}

#[tokio::test]
async fn sound_in_every_container_that_ffmpeg_reads_plays() {
    let app = TestApp::options().without_webhook().start().await;
    let cases = [
        ("aiff", "aiff", "-c:a pcm_s16be"),
        ("aiff", "aiff", "-c:a pcm_s24be"),
        ("caf", "caf", "-c:a alac"),
        ("au", "au", "-c:a pcm_mulaw"),
        ("w64", "w64", "-c:a pcm_s16le"),
        ("mp2", "mp2", "-c:a mp2"),
        ("ac3", "ac3", "-c:a ac3"),
        ("eac3", "eac3", "-c:a eac3"),
        ("dts", "dts", "-ac 2 -c:a dca -strict experimental"),
        ("wavpack", "wv", "-ac 6 -c:a wavpack"),
        ("aiff", "aiff", "-c:a pcm_s8"),
        ("aiff", "aifc", "-f aiff -c:a pcm_f32be"),
        ("caf", "caf", "-c:a adpcm_ima_qt"),
        ("au", "au", "-c:a pcm_f64be"),
        ("aac", "aac", "-c:a aac -write_id3v2 1"),
        ("flac", "flac", "-c:a flac"),
    ];
    for (name, extension, options) in cases {
        let media = app.ready(&format!("/{extension}"), odd::sound_in(extension, options)).await;
        assert_eq!(container(&app, &media).await, name, "{options}");
        assert_eq!(media["duration"], "00:00:02", "{options}");
        assert_eq!(played(&app, &media).await, (None, true), "{options}");
    }
}

#[tokio::test]
async fn pictures_in_every_container_that_ffmpeg_reads_play() {
    let app = TestApp::options().without_webhook().start().await;
    let cases = [
        ("mpegvideo", "m1v", "-c:v mpeg1video -bf 2 -g 12"),
        ("mpegvideo", "m2v", "-c:v mpeg2video -bf 2 -g 12"),
        ("ivf", "ivf", "-c:v libvpx -deadline realtime -cpu-used 8 -b:v 500k"),
        ("dv", "dv", "-vf scale=720:576 -c:v dvvideo -pix_fmt yuv420p"),
    ];
    for (name, extension, options) in cases {
        let media = app.ready(&format!("/{extension}"), odd::pictures_in(extension, options)).await;
        assert_eq!(container(&app, &media).await, name, "{options}");
        assert_eq!(played(&app, &media).await.0, Some(50), "{options}");
        assert_eq!(media["frameRate"], "25/1", "{options}");
    }
}

#[tokio::test]
async fn of_many_channels_the_first_two_play() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/twelve.wav", odd::twelve_channels()).await;
    let detail = &media["playbackReport"]["notCopied"][0]["detail"];
    assert_eq!(detail, "PCM of 12 channels; the first two are played", "{media}");
    assert_eq!(played(&app, &media).await, (None, true));
}

#[tokio::test]
async fn sound_lasts_as_long_as_its_samples_whatever_a_header_says() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/rate.avi", odd::avi_with_half_the_rate()).await;
    let manifest = app.url(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    let seconds = heard(OsStr::new(&manifest)).await;
    assert!((seconds - 2.0).abs() <= 2.0 * 1024.0 / 48_000.0, "{seconds} s of 2 s are heard");
}

#[tokio::test]
async fn sound_behind_a_long_tag_is_what_it_is() {
    let app = TestApp::options().without_webhook().start().await;
    for (name, extension, options) in [("flac", "flac", "-c:a flac"), ("aac", "aac", "-c:a aac")] {
        let file = odd::behind_id3(&odd::sound_in(extension, options), 100_000);
        let media = app.ready(&format!("/tagged.{extension}"), file).await;
        assert_eq!(container(&app, &media).await, name);
        assert_eq!(played(&app, &media).await, (None, true));
    }
    // Where its samples lie is said in a file of this kind, and the tag moves them.
    let url = app.serve("/tagged.mp4", Source::of(odd::behind_id3(&fixture::two_seconds(), 9000)));
    let media = app.wait_settled(text(&app.create(&url).await["id"])).await;
    assert_eq!(media["error"]["code"], "not_media", "{media}");
}

#[tokio::test]
async fn what_is_not_taken_in_is_named() {
    let app = TestApp::options().without_webhook().start().await;
    let url =
        app.serve("/pictures.h264", Source::of(odd::pictures_in("h264", "-c:v libx264 -preset ultrafast")));
    let media = app.wait_settled(text(&app.create(&url).await["id"])).await;
    let message = "the source is H.264 video without a container, which is not supported; convert it, for instance to MP4";
    assert_eq!(media["error"], json!({"code": "codec_unsupported", "message": message}), "{media}");
}

#[tokio::test]
async fn streams_that_were_cut_in_front_play() {
    let app = TestApp::options().without_webhook().start().await;
    let cases = [
        (fixture::packed::transport_stream(), 100, "mpegts"),
        (fixture::packed::program_stream(), 3000, "mpegps"),
    ];
    for (file, cut, name) in cases {
        let media = app.ready(&format!("/{name}"), odd::cut_in_front(&file, cut)).await;
        let (pictures, _) = played(&app, &media).await;
        assert!(pictures.is_some_and(|pictures| 20 <= pictures), "{name}: {pictures:?}");
    }
}
