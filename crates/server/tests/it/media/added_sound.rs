//! Sound that was added to a media, from files of its own: chosen among the media's, cut where that is cut,
//! and heard as it was.

use std::ffi::OsStr;

use bytes::Bytes;
use kinora_testkit::fixture::packed::{clip_with_tone, tone_of};
use kinora_testkit::{Source, fixture};
use m3u8_rs::{AlternativeMedia, MasterPlaylist};
use serde_json::{Value, json};

use super::browser::{play_with, web};
use super::probe::decoded;
use super::stream::Rendition;
use crate::api::tracks::Tracks;
use crate::support::{Program, TestApp, text};

/// What the media sound of themselves.
const OWN_HZ: f64 = 440.0;
/// An encoder gives a tone back; crossings are counted, and one may be missed at either end.
const HZ_SLACK: f64 = 3.0;
/// RFC 8216 lets no player wait for so little; a frame of AAC at 48 kHz is 21 ms.
const SECONDS_SLACK: f64 = 0.025;

pub(super) async fn manifest(app: &TestApp, media: &Value) -> (MasterPlaylist, String) {
    let path = format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]));
    let answer = app.fetch(&path).await;
    let mut manifest = m3u8_rs::parse_master_playlist_res(&answer.body).expect("m3u8-rs reads it");
    manifest.variants.retain(|variant| !variant.is_i_frame);
    (manifest, app.url(&path))
}

/// The tone of a stream between two seconds, by how often it passes 0; `None` where it is silent.
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
pub(super) fn check_tone(heard: Option<f64>, expected: f64, what: &str) {
    let heard = heard.unwrap_or_else(|| panic!("{what}: it is silent"));
    assert!((heard - expected).abs() <= HZ_SLACK, "{what}: {heard} Hz, not {expected}");
}

/// Adds a sound to a media of 12 s, and listens to both.
async fn check(file: Bytes, seconds: u32, rendition: &str) {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::wide()).await;
    let before = manifest(&app, &media).await.0;
    assert_eq!(before.alternatives.len(), 1);
    Tracks::of_sound(&app, &media).added(&app.serve("/sound", Source::of(file)), "de", "Deutsch").await;

    let (listed, address) = manifest(&app, &media).await;
    let told = |one: &AlternativeMedia| {
        (one.name.clone(), one.language.clone(), one.default, one.autoselect, one.channels.clone())
    };
    let two = Some("2".to_owned());
    assert_eq!(
        listed.alternatives.iter().map(told).collect::<Vec<_>>(),
        [
            ("Audio".to_owned(), None, true, true, two.clone()),
            ("Deutsch".to_owned(), Some("de".to_owned()), false, true, two),
        ]
    );
    assert_eq!(listed.alternatives[0], before.alternatives[0], "the media's own is as it was");
    assert!(listed.variants.iter().all(|variant| variant.audio.as_deref() == Some("audio")));

    let uri = listed.alternatives[1].uri.as_deref().expect("it has a playlist");
    assert!(uri.contains(&format!("/{rendition}-")), "{uri}");
    let sound = Rendition::fetch(&app, &format!("/{uri}")).await;
    let own = Rendition::fetch(&app, &format!("/{}", listed.alternatives[0].uri.as_deref().unwrap())).await;
    assert!((sound.seconds() - 12.0).abs() <= SECONDS_SLACK, "{} s", sound.seconds());
    assert!((sound.announced() - sound.seconds()).abs() <= SECONDS_SLACK);
    if 12 <= seconds {
        assert_eq!(sound.segments.len(), own.segments.len(), "it is cut where the media's own is");
        let is_alike = sound.extinf.iter().zip(&own.extinf).all(|(cut, own)| (cut - own).abs() < 0.05);
        assert!(is_alike, "{:?} beside {:?}", sound.extinf, own.extinf);
    }

    check_tone(tone(&address, "a:0", 1, 11).await, OWN_HZ, "the media's own");
    check_tone(tone(&address, "a:1", 1, seconds.min(12) - 1).await, 1000.0, "what was added");
    if seconds < 11 {
        assert_eq!(tone(&address, "a:1", seconds + 1, 12).await, None, "behind its end it is silent");
    }
    let stream = decoded(OsStr::new(&address), "a:1").await.expect("ffprobe finds it");
    let heard = stream.frames as f64 * 1024.0 / 48_000.0;
    assert!((heard - 12.0).abs() <= 0.1, "{heard} s come out of the decoder");
    assert!(decoded(OsStr::new(&address), "v:0").await.is_some_and(|video| video.frames == 300));
}

#[tokio::test]
async fn aac_that_is_longer_is_copied_and_ends_with_the_media() {
    check(tone_of(1000, 15, "m4a", "-c:a aac -b:a 128k"), 15, "audio").await;
}

#[tokio::test]
async fn aac_that_is_shorter_is_copied_and_silent_behind_its_end() {
    check(tone_of(1000, 5, "m4a", "-c:a aac -b:a 128k"), 5, "audio").await;
}

#[tokio::test]
async fn flac_that_is_longer_is_encoded_and_ends_with_the_media() {
    check(tone_of(1000, 15, "flac", "-c:a flac"), 15, "aac").await;
}

#[tokio::test]
async fn mp3_that_is_shorter_is_encoded_and_silent_behind_its_end() {
    check(tone_of(1000, 5, "mp3", "-c:a libmp3lame"), 5, "aac").await;
}

#[tokio::test]
async fn the_sound_of_a_video_is_taken_without_its_pictures() {
    check(clip_with_tone(1000, 13), 13, "audio").await;
}

#[tokio::test]
async fn a_media_without_sound_gets_one_that_plays_when_nobody_chooses() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::video_only()).await;
    assert_eq!(manifest(&app, &media).await.0.alternatives, []);
    let tracks = Tracks::of_sound(&app, &media);
    let flac = app.serve("/flac", Source::of(tone_of(1000, 5, "flac", "-c:a flac")));
    tracks.added(&flac, "de", "Deutsch").await;
    let aac = app.serve("/aac", Source::of(tone_of(700, 5, "m4a", "-c:a aac -b:a 128k")));
    tracks.added(&aac, "de-AT", "Deutsch?").await;
    let (listed, address) = manifest(&app, &media).await;
    let told: Vec<_> =
        listed.alternatives.iter().map(|one| (one.name.as_str(), one.default, one.autoselect)).collect();
    assert_eq!(told, [("Deutsch", true, true), ("Deutsch?", false, true)]);
    assert_eq!(listed.variants[0].audio.as_deref(), Some("audio"));
    check_tone(tone(&address, "a:0", 1, 2).await, 1000.0, "the first");
    check_tone(tone(&address, "a:1", 1, 2).await, 700.0, "the second");
}

#[tokio::test]
async fn beside_sound_alone_another_is_a_choice() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.m4a", fixture::long_sound()).await;
    let (before, _) = manifest(&app, &media).await;
    let aac = app.serve("/aac", Source::of(tone_of(1000, 50, "m4a", "-c:a aac -b:a 128k")));
    // The name that the media's own sound has.
    Tracks::of_sound(&app, &media).added(&aac, "und", "Audio").await;
    let (listed, address) = manifest(&app, &media).await;
    let [variant] = listed.variants.as_slice() else { panic!("one variant: {listed:?}") };
    assert_eq!((&variant.uri, variant.audio.as_deref()), (&before.variants[0].uri, Some("audio")));
    let told: Vec<_> =
        listed.alternatives.iter().map(|one| (one.name.as_str(), one.default, one.autoselect)).collect();
    assert_eq!(told, [("Audio", true, true), ("Audio (2)", false, false)]);
    let [own, added] =
        [0, 1].map(|number: usize| listed.alternatives[number].uri.clone().expect("a playlist"));
    let own = Rendition::fetch(&app, &format!("/{own}")).await;
    let added = Rendition::fetch(&app, &format!("/{added}")).await;
    assert_eq!(own.segments.len(), added.segments.len());
    assert!((added.seconds() - own.seconds()).abs() <= SECONDS_SLACK);
    check_tone(tone(&address, "a:1", 1, 30).await, 1000.0, "what was added");
}

#[tokio::test]
async fn a_viewer_chooses_the_added_sound_and_hears_its_tone() {
    let Some(web) = web() else { return };
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::thirty_seconds()).await;
    let tracks = Tracks::of_sound(&app, &media);
    let aac = app.serve("/aac", Source::of(tone_of(1000, 31, "m4a", "-c:a aac -b:a 128k")));
    tracks.added(&aac, "de", "Deutsch").await;
    let flac = app.serve("/flac", Source::of(tone_of(700, 31, "flac", "-c:a flac")));
    tracks.added(&flac, "fr", "Français").await;
    let page = app.url(&format!("/embed/{}", text(&media["playbackIds"][0]["id"])));
    let wanted = ["Audio=440", "Deutsch=1000", "Français=700", "Audio=440"];
    let run = Program::new("node").folder(&web).args(["e2e/sounds.mjs", &page]).args(wanted).run().await;
    let seen = run.json();
    assert_eq!((&seen["problem"], &seen["console"]), (&Value::Null, &json!([])), "{seen:#}");
    assert_eq!(seen["heard"].as_array().map(Vec::len), Some(wanted.len()), "{seen:#}");
}

#[tokio::test]
async fn a_sound_that_is_shorter_holds_no_viewer_up() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::wide()).await;
    let aac = app.serve("/aac", Source::of(tone_of(1000, 5, "m4a", "-c:a aac -b:a 128k")));
    Tracks::of_sound(&app, &media).added(&aac, "de", "Deutsch").await;
    let Some(seen) = play_with(&app, &media, &["--audio", "Deutsch"]).await else { return };
    assert_eq!((&seen["played"], &seen["ended"]), (&json!(true), &json!(true)), "{seen:#}");
    assert_eq!((&seen["errors"], &seen["notice"]), (&json!([]), &Value::Null), "{seen:#}");
    // What lies behind the choice may have been let go.
    let ranges = seen["buffered"].as_array().expect("a list");
    let [range] = ranges.as_slice() else { panic!("one range without a hole: {seen:#}") };
    assert!((range[1].as_f64().expect("seconds") - 12.0).abs() < 0.05, "{seen:#}");
}
