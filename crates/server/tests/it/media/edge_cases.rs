//! Unusual real-world sources: the supported parts play, and the report names the rest.

use std::ffi::OsStr;

use bytes::Bytes;
use kinora_testkit::Source;
use kinora_testkit::fixture::{self, edge_cases};
use serde_json::{Value, json};

use super::probe::{decoded, decoded_seconds};
use crate::support::{TestApp, text};

/// The number of decoded frames, and whether there is audio.
async fn played(app: &TestApp, media: &Value) -> (Option<u64>, bool) {
    let manifest = app.url(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    let frames = decoded(OsStr::new(&manifest), "v:0").await.map(|video| video.frames);
    (frames, decoded(OsStr::new(&manifest), "a:0").await.is_some_and(|audio| audio.frames > 0))
}

/// The container of the source, as in `input-info`.
async fn container(app: &TestApp, media: &Value) -> Value {
    let info = app.call("GET", &format!("/v1/on-demand/{}/input-info", text(&media["id"]))).send().await;
    info.data()["file"]["containerFormat"].clone()
}

/// Checks the tracks that are left out: their types, each with its sentence.
async fn check(file: Bytes, expected: (Option<u64>, bool), left_out: Value) {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/source", file).await;
    assert_eq!(media["playbackReport"]["leftOut"], left_out, "{media}");
    assert_eq!(played(&app, &media).await, expected);
}

#[tokio::test]
async fn transport_stream_with_colour_change_plays_to_its_end() {
    check(edge_cases::transport_stream_that_changes_colours(), (Some(200), false), Value::Null).await;
}

#[tokio::test]
async fn undecodable_audio_is_left_out() {
    let left_out = |detail: &str| json!([{"type": "audio", "detail": detail}]);
    let cases = [
        (edge_cases::unknown_audio_codec(), "the audio codec is unknown (qxyz), which cannot be decoded"),
        (
            edge_cases::audio_without_sample_entry(),
            "the file is damaged: a track uses sample description 1, which is not there",
        ),
        (
            edge_cases::audio_without_decoder_config(),
            "the file is damaged: its AAC configuration cannot be read",
        ),
    ];
    for (file, detail) in cases {
        check(file, (Some(50), false), left_out(detail)).await;
    }
    // Only a decoding attempt shows that this codec is not supported.
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/source.mkv", edge_cases::video_with_unknown_wave_format()).await;
    assert_eq!(media["playbackReport"]["broken"], json!(["aac"]), "{media}");
    assert_eq!(played(&app, &media).await, (Some(100), false));
}

#[tokio::test]
async fn codecs_of_the_installed_ffmpeg_play_and_are_named() {
    let app = TestApp::options().without_webhook().start().await;
    for (name, options) in [("G.723.1", "-ar 8000 -ac 1 -c:a g723_1 -b:a 6.3k"), ("PCM", "-c:a pcm_f64le")] {
        let media = app.ready(&format!("/{name}.mkv"), edge_cases::video_with_audio_args(options)).await;
        let not_copied = &media["playbackReport"]["notCopied"][0];
        assert_eq!((&not_copied["type"], &not_copied["detail"]), (&json!("audio"), &json!(name)), "{media}");
        assert_eq!(media["playbackReport"]["broken"], Value::Null, "{media}");
        assert_eq!(played(&app, &media).await, (Some(100), true));
    }
}

#[tokio::test]
async fn undecodable_video_leaves_audio_only() {
    let left_out =
        json!([{"type": "video", "detail": "the video codec is unknown (qxyz), which cannot be decoded"}]);
    check(edge_cases::unknown_video_codec(), (None, true), left_out).await;
}

#[tokio::test]
async fn announced_track_without_packets_is_left_out() {
    let left_out = |kind: &str| {
        let detail =
            if kind == "video" { "no video track can be read" } else { "an audio track cannot be read" };
        json!([{"type": kind, "detail": detail}])
    };
    check(edge_cases::transport_stream_without(0x101), (Some(50), false), left_out("audio")).await;
    check(edge_cases::transport_stream_without(0x100), (None, true), left_out("video")).await;
}

#[tokio::test]
async fn packed_bitstream_is_unpacked() {
    check(edge_cases::packed_bitstream("352x240"), (Some(150), false), Value::Null).await;
}

#[tokio::test]
async fn field_pairs_become_one_frame() {
    for are_both_timed in [true, false] {
        let app = TestApp::options().without_webhook().start().await;
        let media = app.ready("/fields.ts", edge_cases::fields(are_both_timed)).await;
        assert_eq!(media["frameRate"], "25/1", "{media}");
        assert_eq!(played(&app, &media).await, (Some(50), false));
        let playback = text(&media["playbackIds"][0]["id"]);
        for image in ["thumbnail.jpg", "thumbnail.jpg?time=1", "spritesheet.jpg"] {
            let answer = app.call("GET", &format!("/{playback}/{image}")).send().await;
            assert_eq!(answer.status, 200, "{image}");
        }
    }
}

#[tokio::test]
async fn audio_in_every_ffmpeg_container_plays() {
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
        let media = app.ready(&format!("/{extension}"), edge_cases::audio_in(extension, options)).await;
        assert_eq!(container(&app, &media).await, name, "{options}");
        assert_eq!(media["duration"], "00:00:02", "{options}");
        assert_eq!(played(&app, &media).await, (None, true), "{options}");
    }
}

#[tokio::test]
async fn video_in_every_ffmpeg_container_plays() {
    let app = TestApp::options().without_webhook().start().await;
    let cases = [
        ("mpegvideo", "m1v", "-c:v mpeg1video -bf 2 -g 12"),
        ("mpegvideo", "m2v", "-c:v mpeg2video -bf 2 -g 12"),
        ("ivf", "ivf", "-c:v libvpx -deadline realtime -cpu-used 8 -b:v 500k"),
        ("dv", "dv", "-vf scale=720:576 -c:v dvvideo -pix_fmt yuv420p"),
    ];
    for (name, extension, options) in cases {
        let media = app.ready(&format!("/{extension}"), edge_cases::video_in(extension, options)).await;
        assert_eq!(container(&app, &media).await, name, "{options}");
        assert_eq!(played(&app, &media).await.0, Some(50), "{options}");
        assert_eq!(media["frameRate"], "25/1", "{options}");
    }
}

#[tokio::test]
async fn multichannel_pcm_plays_first_two_channels() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/twelve.wav", edge_cases::twelve_channels()).await;
    let detail = &media["playbackReport"]["notCopied"][0]["detail"];
    assert_eq!(detail, "PCM of 12 channels; the first two are played", "{media}");
    assert_eq!(played(&app, &media).await, (None, true));
}

#[tokio::test]
async fn audio_duration_follows_samples_despite_wrong_header_rate() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/rate.avi", edge_cases::avi_with_half_the_rate()).await;
    let manifest = app.url(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    let seconds = decoded_seconds(OsStr::new(&manifest)).await;
    assert!((seconds - 2.0).abs() <= 2.0 * 1024.0 / 48_000.0, "{seconds} s of 2 s are heard");
}

#[tokio::test]
async fn audio_after_a_long_id3_tag_is_detected() {
    let app = TestApp::options().without_webhook().start().await;
    for (name, extension, options) in [("flac", "flac", "-c:a flac"), ("aac", "aac", "-c:a aac")] {
        let file = edge_cases::behind_id3(&edge_cases::audio_in(extension, options), 100_000);
        let media = app.ready(&format!("/tagged.{extension}"), file).await;
        assert_eq!(container(&app, &media).await, name);
        assert_eq!(played(&app, &media).await, (None, true));
    }
    // An MP4 stores the offsets of its samples, and the tag shifts them.
    let url = app.serve("/tagged.mp4", Source::of(edge_cases::behind_id3(&fixture::two_seconds(), 9000)));
    let media = app.wait_settled(text(&app.create(&url).await["id"])).await;
    assert_eq!(media["error"]["code"], "not_media", "{media}");
}

#[tokio::test]
async fn unsupported_stream_fails_with_its_codec_named() {
    let app = TestApp::options().without_webhook().start().await;
    let url = app
        .serve("/pictures.h264", Source::of(edge_cases::video_in("h264", "-c:v libx264 -preset ultrafast")));
    let media = app.wait_settled(text(&app.create(&url).await["id"])).await;
    let message = "the source is H.264 video without a container, which is not supported; convert it, for instance to MP4";
    assert_eq!(media["error"], json!({"code": "codec_unsupported", "message": message}), "{media}");
}

#[tokio::test]
async fn streams_with_a_cut_beginning_play() {
    let app = TestApp::options().without_webhook().start().await;
    let cases = [
        (fixture::containers::transport_stream(), 100, "mpegts"),
        (fixture::containers::program_stream(), 3000, "mpegps"),
    ];
    for (file, cut, name) in cases {
        let media = app.ready(&format!("/{name}"), edge_cases::cut_in_front(&file, cut)).await;
        let (frames, _) = played(&app, &media).await;
        assert!(frames.is_some_and(|frames| 20 <= frames), "{name}: {frames:?}");
    }
}
