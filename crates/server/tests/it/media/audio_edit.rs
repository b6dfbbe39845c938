//! Replaced audio and imposed audio: the decoded audio in every kind of playback.

use std::ffi::OsStr;

use bytes::Bytes;
use kinora_testkit::fixture::containers::{clip_with_tone, tone_of};
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::added_audio::{check_tone, manifest, tone};
use super::probe::{decoded, hashes};
use crate::api::mp4_support::{address, ready_events};
use crate::support::{Program, TestApp, text, until};

const M4A: &str = "-c:a aac -b:a 128k";
/// Quieter than this is silence; louder than [`LOUD_DB`] is a tone of a fixture.
const SILENT_DB: f64 = -50.0;
const LOUD_DB: f64 = -30.0;

/// A media from this file, with an input of type `audio`.
async fn with_audio(app: &TestApp, video: Bytes, edit: Value, fields: Value) -> Value {
    let mut audio = json!({"type": "audio"});
    audio.as_object_mut().unwrap().extend(edit.as_object().unwrap().clone());
    let url = app.serve("/video", Source::of(video));
    let mut body = json!({"inputs": [audio, {"type": "video", "url": url}]});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let media = app.create_with(&url, body).await;
    let media = app.wait_settled(text(&media["id"])).await;
    assert_eq!(media["status"], "Ready", "{media}");
    media
}

/// The loudness around a frequency in dB, between two times in seconds.
async fn loudness(input: &str, hz: u32, from: u32, to: u32) -> f64 {
    let band = format!("bandpass=f={hz}:width_type=h:w=40");
    let filter = format!("aresample=48000,{band},{band},atrim={from}:{to},volumedetect");
    let run = Program::new("ffmpeg")
        .args(["-v", "info", "-nostdin", "-i", input, "-map", "0:a:0", "-af", &filter, "-f", "null", "-"])
        .run()
        .await
        .ok();
    let line = run.stderr.lines().find(|line| line.contains("mean_volume: "));
    let line = line.unwrap_or_else(|| panic!("no volume: {run:?}"));
    line.split("mean_volume: ").nth(1).unwrap().trim_end_matches(" dB").parse().expect("decibels")
}

async fn is_audible(input: &str, hz: u32, from: u32, to: u32) -> bool {
    let loudness = loudness(input, hz, from, to).await;
    assert!(!(SILENT_DB..LOUD_DB).contains(&loudness), "{hz} Hz from {from} s to {to} s: {loudness} dB");
    loudness >= LOUD_DB
}

/// The stored objects of a media and of the files it was made from.
const KINDS: [&str; 3] = ["index", "sound", "source"];

/// The kinds of stored objects, without those made for viewers.
///
/// Waits until no object is being written.
async fn kinds(app: &TestApp) -> Vec<String> {
    until("no object to be written", async || {
        let objects = app.objects().await;
        let kinds = objects.iter().map(|path| path.split('/').next().unwrap());
        let mut kinds: Vec<_> = kinds.map(str::to_owned).collect();
        kinds.retain(|kind| !["picture", "segment", "init"].contains(&&**kind));
        kinds.sort();
        (!kinds.iter().any(|kind| kind == "temporary")).then_some(kinds)
    })
    .await
}

#[tokio::test]
async fn swapped_audio_replaces_audio_everywhere() {
    for (name, file, seconds) in [
        ("aac", tone_of(1000, 15, "m4a", M4A), 12),
        ("shorter", tone_of(1000, 5, "m4a", M4A), 5),
        ("mp3", tone_of(1000, 15, "mp3", "-c:a libmp3lame"), 12),
        ("video", clip_with_tone(1000, 13), 12),
    ] {
        let app = TestApp::start().await;
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        std::fs::write(&source, fixture::large_two_tracks()).unwrap();
        let swap = json!({"swapTrackUrl": app.serve("/audio", Source::of(file))});
        let media =
            with_audio(&app, fixture::large_two_tracks(), swap, json!({"mp4Support": "audioOnly,capped_4k"}))
                .await;
        assert_eq!(kinds(&app).await, KINDS, "{name}");
        assert_eq!(media["duration"], "00:00:12", "{name}");
        let kinds: Vec<_> = media["tracks"].as_array().unwrap().iter().map(|track| &track["type"]).collect();
        assert_eq!(kinds, ["video", "audio"], "{name}");

        let (listed, played) = manifest(&app, &media).await;
        assert_eq!(listed.alternatives.len(), 1, "{name}: the own one is gone");
        ready_events(&app, 1).await;
        let [mp4, m4a] = ["capped-4k.mp4", "audio.m4a"].map(|file| app.url(&address(&media, file)));
        for input in [&played, &mp4, &m4a] {
            check_tone(tone(input, "a:0", 1, seconds - 1).await, 1000.0, &format!("{name} {input}"));
            let frames = decoded(OsStr::new(input), "a:0").await.expect("it has audio").frames;
            // A file is not padded with silence.
            let expected = if *input == played { 12 } else { seconds };
            let decoded_s = frames as f64 * 1024.0 / 48_000.0;
            assert!((decoded_s - f64::from(expected)).abs() < 0.1, "{name} {input}: {decoded_s} s");
        }
        if seconds < 11 {
            assert_eq!(
                tone(&played, "a:0", seconds + 1, 12).await,
                None,
                "{name}: behind its end it is silent"
            );
        }
        assert_eq!(
            hashes(OsStr::new(&mp4), "v:0").await,
            hashes(source.as_os_str(), "v:0").await,
            "{name}: the frames are those of the source"
        );
    }
}

#[tokio::test]
async fn imposed_tracks_are_mixed_at_their_times() {
    let app = TestApp::options().without_webhook().start().await;
    let music = app.serve("/music", Source::of(tone_of(1000, 30, "mp3", "-c:a libmp3lame")));
    let jingle = app.serve("/jingle", Source::of(tone_of(2500, 3, "wav", "-c:a pcm_s16le")));
    let imposed = json!({"imposeTracks": [
        {"url": music, "startTime": 3, "endTime": 9, "fadeInLevel": 1, "fadeOutLevel": 1},
        {"url": jingle},
        // After the end of the media there is no audio.
        {"url": music, "startTime": 500}
    ]});
    let media = with_audio(&app, fixture::large_two_tracks(), imposed, json!({})).await;
    assert_eq!(kinds(&app).await, KINDS);
    assert_eq!(app.sources.requests("/music").len(), 1, "a file that is heard twice is read once");
    assert_eq!(media["duration"], "00:00:12");
    let (listed, played) = manifest(&app, &media).await;
    assert_eq!(listed.alternatives.len(), 1);
    for (hz, audible) in [(440, 0..12), (1000, 3..9), (2500, 0..3)] {
        for (from, to) in [(0, 2), (4, 6), (6, 8), (10, 12)] {
            let expected = audible.contains(&from) && audible.contains(&(to - 1));
            assert_eq!(is_audible(&played, hz, from, to).await, expected, "{hz} Hz from {from} s to {to} s");
        }
    }
    let (own, faded) = (loudness(&played, 1000, 5, 7).await, loudness(&played, 1000, 3, 4).await);
    assert!((2.0..12.0).contains(&(own - faded)), "it grows louder: {faded} dB, then {own} dB");
}

/// The time of the first audible audio, in seconds.
async fn onset(input: &str) -> f64 {
    let run = Program::new("ffmpeg")
        .args(["-v", "info", "-nostdin", "-copyts", "-i", input, "-map", "0:a:0"])
        .args(["-af", "silencedetect=noise=-40dB:d=0.1", "-f", "null", "-"])
        .run()
        .await
        .ok();
    let line = run.stderr.lines().find_map(|line| line.split("silence_end: ").nth(1));
    let line = line.unwrap_or_else(|| panic!("it is never silent: {run:?}"));
    line.split(' ').next().and_then(|seconds| seconds.parse().ok()).expect("seconds")
}

#[tokio::test]
async fn imposed_track_begins_at_its_start_time() {
    // PCM has no encoder delay. The media is silent, or its own audio starts late.
    let app = TestApp::options().without_webhook().start().await;
    let tone = app.serve("/tone", Source::of(tone_of(1000, 3, "wav", "-c:a pcm_s16le")));
    for (name, video, at, first) in [
        ("silent", fixture::video_only(), 1.25, 1.25),
        ("before the own", fixture::late_audio(), 0.25, 0.25),
        ("behind the own, which begins late", fixture::late_audio(), 1.25, 0.5),
    ] {
        let imposed = json!({"imposeTracks": [{"url": tone, "startTime": at}]});
        let media = with_audio(&app, video, imposed, json!({})).await;
        let (_, played) = manifest(&app, &media).await;
        let onset_s = onset(&played).await;
        assert!((onset_s - first).abs() < 0.01, "{name}: heard at {onset_s} s, not {first} s");
    }
}

#[tokio::test]
async fn imposed_track_does_not_extend_audio_only_media() {
    let app = TestApp::options().without_webhook().start().await;
    let over = app.serve("/over", Source::of(tone_of(1000, 60, "mp3", "-c:a libmp3lame")));
    let imposed = json!({"imposeTracks": [{"url": over, "startTime": 20}]});
    let media = with_audio(&app, fixture::long_audio(), imposed, json!({})).await;
    assert_eq!((&media["duration"], &media["isAudioOnly"]), (&json!("00:00:35"), &json!(true)));
    let (_, played) = manifest(&app, &media).await;
    for (hz, from, to, expected) in [(440, 1, 34, true), (1000, 1, 19, false), (1000, 21, 34, true)] {
        assert_eq!(is_audible(&played, hz, from, to).await, expected, "{hz} Hz from {from} s to {to} s");
    }
}

#[tokio::test]
async fn swapped_and_imposed_audio_combine() {
    let app = TestApp::options().without_webhook().start().await;
    let swapped = app.serve("/swapped", Source::of(tone_of(700, 5, "flac", "-c:a flac")));
    let over = app.serve("/over", Source::of(tone_of(1000, 3, "m4a", M4A)));
    let edit = json!({"swapTrackUrl": swapped, "imposeTracks": [{"url": over, "startTime": 7.5}]});
    let media = with_audio(&app, fixture::large_two_tracks(), edit, json!({})).await;
    let (_, played) = manifest(&app, &media).await;
    for (hz, from, to, expected) in [
        (440, 1, 12, false),
        (700, 1, 4, true),
        (700, 6, 12, false),
        (1000, 1, 7, false),
        (1000, 8, 10, true),
    ] {
        assert_eq!(is_audible(&played, hz, from, to).await, expected, "{hz} Hz from {from} s to {to} s");
    }
}

#[tokio::test]
async fn audio_swap_works_for_silent_video_and_audio_only() {
    let app = TestApp::options().without_webhook().start().await;
    let tone_url = app.serve("/tone", Source::of(tone_of(1000, 15, "m4a", M4A)));
    for edit in [json!({"swapTrackUrl": tone_url}), json!({"imposeTracks": [{"url": tone_url}]})] {
        let media = with_audio(&app, fixture::video_only(), edit, json!({})).await;
        let (listed, played) = manifest(&app, &media).await;
        assert_eq!((listed.alternatives.len(), &media["duration"]), (1, &json!("00:00:02")));
        check_tone(tone(&played, "a:0", 1, 2).await, 1000.0, "the audio of a silent video");
    }
    // The duration is that of the new audio.
    let media = with_audio(&app, fixture::audio_only(), json!({"swapTrackUrl": tone_url}), json!({})).await;
    assert_eq!((&media["duration"], &media["isAudioOnly"]), (&json!("00:00:15"), &json!(true)));
    let (_, played) = manifest(&app, &media).await;
    check_tone(tone(&played, "a:0", 1, 14).await, 1000.0, "audio alone");
}

#[tokio::test]
async fn swapped_audio_of_equal_length_gives_different_index_ids() {
    // PCM audio has samples of one size: only their bytes differ.
    let app = TestApp::options().without_webhook().start().await;
    let mut ids = Vec::new();
    for hz in [700, 1000] {
        let audio_url = app.serve(&format!("/{hz}"), Source::of(tone_of(hz, 12, "wav", "-c:a pcm_s16le")));
        let media =
            with_audio(&app, fixture::large_two_tracks(), json!({"swapTrackUrl": audio_url}), json!({}))
                .await;
        let (listed, played) = manifest(&app, &media).await;
        check_tone(tone(&played, "a:0", 1, 11).await, f64::from(hz), "each its own");
        ids.push(listed.variants[0].uri.split('/').nth(1).unwrap().to_owned());
    }
    assert_ne!(ids[0], ids[1], "players and caches keep what lies under an index id");
}

#[tokio::test]
async fn upload_can_swap_its_audio() {
    let app = TestApp::options().without_webhook().start().await;
    let audio_url = app.serve("/audio", Source::of(tone_of(1000, 15, "m4a", M4A)));
    let settings = json!({"inputs": [{"type": "video"}, {"type": "audio", "swapTrackUrl": audio_url}]});
    let body = json!({"corsOrigin": "*", "pushMediaSettings": settings});
    let upload = app.call("POST", "/v1/on-demand/upload").json(&body).send().await;
    assert_eq!(upload.status, 201, "{upload:?}");
    let upload = upload.data();
    let path = text(&upload["url"]).strip_prefix(&app.url("")).unwrap().to_owned();
    let sent = app.request("PUT", &path).body(fixture::large_two_tracks()).send().await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let media = app.wait_settled(text(&upload["uploadId"])).await;
    assert_eq!((&media["status"], &media["duration"]), (&json!("Ready"), &json!("00:00:12")), "{media}");
    let (_, played) = manifest(&app, &media).await;
    check_tone(tone(&played, "a:0", 1, 11).await, 1000.0, "the audio of an upload");
    assert_eq!(kinds(&app).await, KINDS);
}

#[tokio::test]
async fn missing_audio_input_fails_media_by_name() {
    let app = TestApp::options().without_webhook().start().await;
    let good = app.serve("/good", Source::of(tone_of(1000, 3, "m4a", M4A)));
    let silent = app.serve("/silent", Source::of(fixture::video_only()));
    let page = app.serve("/page", Source::of(fixture::not_media::html()));
    let none = app.sources.url("/none.mp3");
    for (edit, code, sentence) in [
        (
            json!({"swapTrackUrl": none}),
            "source_not_found",
            "swapTrackUrl: the source server responded with status 404",
        ),
        (json!({"swapTrackUrl": silent}), "no_audio", "swapTrackUrl: the file has no audio"),
        (
            json!({"swapTrackUrl": good, "imposeTracks": [{"url": good}, {"url": page}]}),
            "not_media",
            "imposeTracks[1].url: ",
        ),
        (
            json!({"swapTrackUrl": "http://10.0.0.1/a.mp3"}),
            "source_forbidden_address",
            "swapTrackUrl: the source URL, or one it redirects to, is not on the public internet",
        ),
    ] {
        let mut audio = json!({"type": "audio"});
        audio.as_object_mut().unwrap().extend(edit.as_object().unwrap().clone());
        let url = app.serve("/video", Source::of(fixture::two_seconds()));
        let inputs = json!({"inputs": [{"type": "video", "url": url}, audio]});
        let media = app.create_with(&url, inputs).await;
        let media = app.wait_settled(text(&media["id"])).await;
        assert_eq!((&media["status"], &media["error"]["code"]), (&json!("Failed"), &json!(code)), "{media}");
        let message = text(&media["error"]["message"]);
        assert!(message.starts_with(sentence), "{message}");
    }
    until("nothing is left of them", async || app.objects().await.is_empty().then_some(())).await;
}
