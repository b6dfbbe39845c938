//! Audio tracks that were added to a media from their own files: selected like the media's own, cut where
//! its segments are cut, and decoded unchanged.

use std::ffi::OsStr;

use bytes::Bytes;
use kinora_testkit::fixture::containers::{clip_with_tone, tone_of};
use kinora_testkit::{Source, fixture};
use m3u8_rs::{AlternativeMedia, MasterPlaylist};
use serde_json::{Value, json};

use super::browser::{play_with, web};
use super::probe::decoded;
use super::stream::Rendition;
use crate::api::tracks::Tracks;
use crate::support::{Program, TestApp, text};

/// The tone of the audio in media fixtures.
const OWN_HZ: f64 = 440.0;
/// An encoder preserves a tone; zero crossings are counted, and one may be missed at either end.
const HZ_SLACK: f64 = 3.0;
/// RFC 8216 lets no player wait for such a short time; a frame of AAC at 48 kHz is 21 ms.
const SECONDS_SLACK: f64 = 0.025;

pub(super) async fn manifest(app: &TestApp, media: &Value) -> (MasterPlaylist, String) {
    let path = format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]));
    let answer = app.fetch(&path).await;
    let mut manifest = m3u8_rs::parse_master_playlist_res(&answer.body).expect("m3u8-rs reads it");
    manifest.variants.retain(|variant| !variant.is_i_frame);
    (manifest, app.url(&path))
}

/// The tone of a stream between two times in seconds, by its zero crossings; `None` for silence.
pub(super) async fn tone(input: &str, stream: &str, from: u32, to: u32) -> Option<f64> {
    let measure = "astats=metadata=1:measure_overall=none:measure_perchannel=Zero_crossings_rate+RMS_level";
    let filter = format!("aresample=48000,atrim={from}:{to},{measure},ametadata=mode=print:file=-");
    let run = Program::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-i", input, "-map", &format!("0:{stream}")])
        .args(["-af", &filter, "-f", "null", "-"])
        .run()
        .await
        .ok();
    assert_eq!(run.stderr, "", "ffmpeg has nothing to complain of");
    let last = |name: &str| {
        let name = format!("lavfi.astats.1.{name}=");
        let line = run.stdout.lines().rfind(|line| line.starts_with(&name));
        let line = line.unwrap_or_else(|| panic!("{name} of {stream} from {from} s to {to} s: {run:?}"));
        line[name.len()..].parse::<f64>().expect("a number")
    };
    (last("RMS_level") > -60.0).then(|| last("Zero_crossings_rate") * 24_000.0)
}

#[track_caller]
pub(super) fn check_tone(found: Option<f64>, expected: f64, what: &str) {
    let heard = found.unwrap_or_else(|| panic!("{what}: it is silent"));
    assert!((heard - expected).abs() <= HZ_SLACK, "{what}: {heard} Hz, not {expected}");
}

/// Adds audio to a media of 12 s, and measures both tracks.
async fn check(file: Bytes, seconds: u32, rendition: &str) {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::large_two_tracks()).await;
    let before = manifest(&app, &media).await.0;
    assert_eq!(before.alternatives.len(), 1);
    Tracks::of_audio(&app, &media).added(&app.serve("/audio", Source::of(file)), "de", "Deutsch").await;

    let (listed, address) = manifest(&app, &media).await;
    let attributes = |one: &AlternativeMedia| {
        (one.name.clone(), one.language.clone(), one.default, one.autoselect, one.channels.clone())
    };
    let two = Some("2".to_owned());
    assert_eq!(
        listed.alternatives.iter().map(attributes).collect::<Vec<_>>(),
        [
            ("Audio".to_owned(), None, true, true, two.clone()),
            ("Deutsch".to_owned(), Some("de".to_owned()), false, true, two),
        ]
    );
    assert_eq!(listed.alternatives[0], before.alternatives[0], "the media's own is as it was");
    assert!(listed.variants.iter().all(|variant| variant.audio.as_deref() == Some("audio")));

    let uri = listed.alternatives[1].uri.as_deref().expect("it has a playlist");
    assert!(uri.contains(&format!("/{rendition}-")), "{uri}");
    let audio = Rendition::fetch(&app, &format!("/{uri}")).await;
    let own = Rendition::fetch(&app, &format!("/{}", listed.alternatives[0].uri.as_deref().unwrap())).await;
    assert!((audio.seconds() - 12.0).abs() <= SECONDS_SLACK, "{} s", audio.seconds());
    assert!((audio.announced() - audio.seconds()).abs() <= SECONDS_SLACK);
    if 12 <= seconds {
        assert_eq!(audio.segments.len(), own.segments.len(), "it is cut where the media's own is");
        let is_alike = audio.extinf.iter().zip(&own.extinf).all(|(cut, own)| (cut - own).abs() < 0.05);
        assert!(is_alike, "{:?} beside {:?}", audio.extinf, own.extinf);
    }

    check_tone(tone(&address, "a:0", 1, 11).await, OWN_HZ, "the media's own");
    check_tone(tone(&address, "a:1", 1, seconds.min(12) - 1).await, 1000.0, "the added audio");
    if seconds < 11 {
        assert_eq!(tone(&address, "a:1", seconds + 1, 12).await, None, "behind its end it is silent");
    }
    let stream = decoded(OsStr::new(&address), "a:1").await.expect("ffprobe finds it");
    let decoded_s = stream.frames as f64 * 1024.0 / 48_000.0;
    assert!((decoded_s - 12.0).abs() <= 0.1, "{decoded_s} s come out of the decoder");
    assert!(decoded(OsStr::new(&address), "v:0").await.is_some_and(|video| video.frames == 300));
}

#[tokio::test]
async fn longer_aac_is_copied_and_ends_with_the_media() {
    check(tone_of(1000, 15, "m4a", "-c:a aac -b:a 128k"), 15, "audio").await;
}

#[tokio::test]
async fn shorter_aac_is_copied_and_padded_with_silence() {
    check(tone_of(1000, 5, "m4a", "-c:a aac -b:a 128k"), 5, "audio").await;
}

#[tokio::test]
async fn longer_flac_is_encoded_and_ends_with_the_media() {
    check(tone_of(1000, 15, "flac", "-c:a flac"), 15, "aac").await;
}

#[tokio::test]
async fn shorter_mp3_is_encoded_and_padded_with_silence() {
    check(tone_of(1000, 5, "mp3", "-c:a libmp3lame"), 5, "aac").await;
}

#[tokio::test]
async fn video_input_contributes_only_its_audio() {
    check(clip_with_tone(1000, 13), 13, "audio").await;
}

#[tokio::test]
async fn added_audio_of_silent_video_is_default() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::video_only()).await;
    assert_eq!(manifest(&app, &media).await.0.alternatives, []);
    let tracks = Tracks::of_audio(&app, &media);
    let flac = app.serve("/flac", Source::of(tone_of(1000, 5, "flac", "-c:a flac")));
    tracks.added(&flac, "de", "Deutsch").await;
    let aac = app.serve("/aac", Source::of(tone_of(700, 5, "m4a", "-c:a aac -b:a 128k")));
    tracks.added(&aac, "de-AT", "Deutsch?").await;
    let (listed, address) = manifest(&app, &media).await;
    let listed_tracks: Vec<_> =
        listed.alternatives.iter().map(|one| (one.name.as_str(), one.default, one.autoselect)).collect();
    assert_eq!(listed_tracks, [("Deutsch", true, true), ("Deutsch?", false, true)]);
    assert_eq!(listed.variants[0].audio.as_deref(), Some("audio"));
    check_tone(tone(&address, "a:0", 1, 2).await, 1000.0, "the first");
    check_tone(tone(&address, "a:1", 1, 2).await, 700.0, "the second");
}

#[tokio::test]
async fn audio_only_media_lists_an_added_track_as_alternative() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.m4a", fixture::long_audio()).await;
    let (before, _) = manifest(&app, &media).await;
    let aac = app.serve("/aac", Source::of(tone_of(1000, 50, "m4a", "-c:a aac -b:a 128k")));
    // The same name as the media's own audio track.
    Tracks::of_audio(&app, &media).added(&aac, "und", "Audio").await;
    let (listed, address) = manifest(&app, &media).await;
    let [variant] = listed.variants.as_slice() else { panic!("one variant: {listed:?}") };
    assert_eq!((&variant.uri, variant.audio.as_deref()), (&before.variants[0].uri, Some("audio")));
    let listed_tracks: Vec<_> =
        listed.alternatives.iter().map(|one| (one.name.as_str(), one.default, one.autoselect)).collect();
    assert_eq!(listed_tracks, [("Audio", true, true), ("Audio (2)", false, false)]);
    let [own, added] =
        [0, 1].map(|number: usize| listed.alternatives[number].uri.clone().expect("a playlist"));
    let own = Rendition::fetch(&app, &format!("/{own}")).await;
    let added = Rendition::fetch(&app, &format!("/{added}")).await;
    assert_eq!(own.segments.len(), added.segments.len());
    assert!((added.seconds() - own.seconds()).abs() <= SECONDS_SLACK);
    check_tone(tone(&address, "a:1", 1, 30).await, 1000.0, "the added audio");
}

#[tokio::test]
async fn viewer_selects_added_audio_track() {
    let Some(web) = web() else { return };
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::thirty_seconds()).await;
    let tracks = Tracks::of_audio(&app, &media);
    let aac = app.serve("/aac", Source::of(tone_of(1000, 31, "m4a", "-c:a aac -b:a 128k")));
    tracks.added(&aac, "de", "Deutsch").await;
    let flac = app.serve("/flac", Source::of(tone_of(700, 31, "flac", "-c:a flac")));
    tracks.added(&flac, "fr", "Français").await;
    let page = app.url(&format!("/embed/{}", text(&media["playbackIds"][0]["id"])));
    let expected = ["Audio=440", "Deutsch=1000", "Français=700", "Audio=440"];
    let run = Program::new("node").folder(&web).args(["e2e/sounds.mjs", &page]).args(expected).run().await;
    let seen = run.json();
    assert_eq!((&seen["problem"], &seen["console"]), (&Value::Null, &json!([])), "{seen:#}");
    assert_eq!(seen["heard"].as_array().map(Vec::len), Some(expected.len()), "{seen:#}");
}

#[tokio::test]
async fn shorter_audio_does_not_stall_playback() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::large_two_tracks()).await;
    let aac = app.serve("/aac", Source::of(tone_of(1000, 5, "m4a", "-c:a aac -b:a 128k")));
    Tracks::of_audio(&app, &media).added(&aac, "de", "Deutsch").await;
    let Some(seen) = play_with(&app, &media, &["--audio", "Deutsch"]).await else { return };
    assert_eq!((&seen["played"], &seen["ended"]), (&json!(true), &json!(true)), "{seen:#}");
    assert_eq!((&seen["errors"], &seen["notice"]), (&json!([]), &Value::Null), "{seen:#}");
    // The player may have evicted the buffer before the switch.
    let ranges = seen["buffered"].as_array().expect("a list");
    let [range] = ranges.as_slice() else { panic!("one range without a hole: {seen:#}") };
    assert!((range[1].as_f64().expect("seconds") - 12.0).abs() < 0.05, "{seen:#}");
}
