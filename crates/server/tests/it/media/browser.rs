//! The player page in Chromium, on a media of a real server.

use std::path::{Path, PathBuf};

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use crate::support::{Program, TestApp, text};

/// Detects a hang of the player.
///
/// It is shorter than the limit of [`Program`], so that the report still prints.
pub(crate) const PLAY_TIMEOUT_S: &str = "90";

/// The folder `web` with the files that `make test` installs and builds.
///
/// `None`, with a printed line, where they are missing; with `CI` set that is a failure.
#[expect(clippy::print_stderr, reason = "nothing is left out in silence")]
pub(crate) fn web() -> Option<PathBuf> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let missing: Vec<_> = ["node_modules/playwright-core", "dist/embed.html"]
        .into_iter()
        .filter(|part| !web.join(part).exists())
        .collect();
    if missing.is_empty() {
        return Some(web);
    }
    let sentence =
        format!("the player was not tried: web/ lacks {}; `make test` builds it", missing.join(" and "));
    assert!(std::env::var_os("CI").is_none(), "{sentence}");
    eprintln!("{sentence}");
    None
}

/// Plays a media to its end.
async fn play(app: &TestApp, media: &Value) -> Option<Value> {
    play_with(app, media, &[]).await
}

pub(super) async fn play_with(app: &TestApp, media: &Value, options: &[&str]) -> Option<Value> {
    let web = web()?;
    let page = app.url(&format!("/embed/{}", text(&media["playbackIds"][0]["id"])));
    let run = Program::new("node")
        .folder(&web)
        .args(["e2e/play.mjs", &page, "--until-end", "--timeout", PLAY_TIMEOUT_S])
        .args(options)
        .run()
        .await;
    Some(run.json())
}

/// The start and end of the buffered range; panics unless there is one range.
fn buffered(seen: &Value) -> (f64, f64) {
    let ranges = seen["buffered"].as_array().expect("a list");
    let [range] = ranges.as_slice() else { panic!("one range without a hole: {seen:#}") };
    (range[0].as_f64().expect("seconds"), range[1].as_f64().expect("seconds"))
}

#[track_caller]
fn check_played(seen: &Value, seconds: f64) {
    assert_eq!(check_ended(seen, seconds), 0.0);
}

/// Checks that a video of this length has played to its end. Returns the start of the buffered range.
#[track_caller]
fn check_ended(seen: &Value, seconds: f64) -> f64 {
    assert_eq!((&seen["played"], &seen["ended"]), (&json!(true), &json!(true)), "{seen:#}");
    assert_eq!((&seen["errors"], &seen["notice"]), (&json!([]), &Value::Null), "{seen:#}");
    assert_eq!(seen["requestsElsewhere"], json!([]));
    let (start, end) = buffered(seen);
    assert!((end - seconds).abs() < 0.05, "{end} s of {seconds}");
    start
}

/// Checks that every frame was decoded once.
///
/// After a stall hls.js seeks a little and decodes some frames twice.
#[track_caller]
pub(crate) fn check_frames(seen: &Value, frames: u64) {
    let total = seen["videoFrames"]["total"].as_u64().expect("a number");
    let has_stalled = seen["stalls"].as_u64().expect("a number") > 0;
    assert!(total == frames || (has_stalled && frames < total), "{total} frames of {frames}: {seen:#}");
}

#[tokio::test]
async fn every_frame_of_a_clip_plays() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let Some(seen) = play(&app, &media).await else { return };
    check_played(&seen, 2.0);
    assert_eq!((&seen["width"], &seen["height"]), (&json!(160), &json!(90)));
    check_frames(&seen, 50);
}

/// Parts of three sizes and frame rates, one of them without audio.
#[tokio::test]
async fn joined_parts_play_as_one_buffered_range() {
    let app = TestApp::options().without_webhook().start().await;
    let serve = |path: &str, file| app.serve(path, Source::of(file));
    let video = json!({
        "type": "video",
        "url": serve("/film.mp4", fixture::large_two_tracks()),
        "expungeSegments": ["3.02-9"],
        "introUrl": serve("/intro.webm", fixture::vp9_webm()),
        "segments": [{"url": serve("/insert.mp4", fixture::rotated()), "insertAt": 2}],
        "outroUrl": serve("/outro.mp4", fixture::video_only()),
    });
    let created = app.call("POST", "/v1/on-demand").json(&json!({"inputs": [video]})).send().await.data();
    let media = app.wait_settled(text(&created["id"])).await;
    assert_eq!(media["status"], "Ready", "{media}");
    let Some(seen) = play(&app, &media).await else { return };
    let duration = seen["duration"].as_f64().expect("seconds");
    check_played(&seen, duration);
    // hls.js ends with the small rung where the machine was too slow for the other one.
    let size = (seen["width"].as_u64(), seen["height"].as_u64());
    let rungs = [(480, 270), (426, 240)].map(|(width, height)| (Some(width), Some(height)));
    assert!(rungs.contains(&size), "{seen:#}");
}

#[tokio::test]
async fn screen_recording_with_a_pause_plays() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::static_screen()).await;
    let Some(seen) = play(&app, &media).await else { return };
    check_played(&seen, 12.0);
}

#[tokio::test]
async fn av1_and_opus_play() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::av1_opus()).await;
    let Some(seen) = play(&app, &media).await else { return };
    check_played(&seen, 2.0);
    assert_eq!((&seen["width"], &seen["height"]), (&json!(160), &json!(90)));
    check_frames(&seen, 50);
}

#[tokio::test]
async fn audio_only_plays() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::audio_only()).await;
    let Some(seen) = play(&app, &media).await else { return };
    check_played(&seen, 2.0);
}

#[tokio::test]
async fn rotated_clip_is_shown_upright() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::rotated()).await;
    let Some(seen) = play(&app, &media).await else { return };
    check_played(&seen, 2.0);
    assert_eq!((&seen["width"], &seen["height"]), (&json!(90), &json!(160)));
}

/// The audio tracks of the page: name, language, and whether it plays.
fn audio_tracks(seen: &Value) -> Vec<(&str, &str, bool)> {
    let tracks = seen["audioTracks"].as_array().expect("a list");
    let is_enabled = |track: &'_ Value| track["enabled"].as_bool().expect("yes or no");
    tracks.iter().map(|track| (text(&track["label"]), text(&track["language"]), is_enabled(track))).collect()
}

async fn check_switched(file: bytes::Bytes, third: &str) {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", file).await;
    let Some(seen) = play_with(&app, &media, &["--audio", "German"]).await else { return };
    assert_eq!(
        audio_tracks(&seen),
        [("English", "en", false), ("German", "de", true), (third, "en", false)],
        "{seen:#}"
    );
    // The chosen track is loaded from the segment that plays then: after one second, on a slow machine later.
    let start = check_ended(&seen, 8.0);
    assert!(start < 8.0, "{start}");
    let requests = seen["requests"].as_array().expect("a list");
    let is_asked = |part: &str| requests.iter().any(|address| text(address).contains(part));
    assert!(is_asked("/audio/0.m4s"), "the first track before the choice");
    assert!(is_asked("/audio-2/init.mp4"), "the second after it");
    assert!(!is_asked("/audio-3/"), "the third never");
}

#[tokio::test]
async fn audio_language_switch_continues_playback() {
    check_switched(fixture::several_audio(), "English (Commentary)").await;
}

#[tokio::test]
async fn audio_only_language_switch_continues_playback() {
    check_switched(fixture::several_audio_only(), "English (2)").await;
}
