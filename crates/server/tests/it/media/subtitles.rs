//! Subtitles that were added to a media, checked with ffmpeg and Chromium.

use std::ffi::OsStr;
use std::path::Path;

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::browser::web;
use super::probe::decoded;
use crate::api::tracks::Tracks;
use crate::support::{Program, TestApp, text};

/// A typical file: unordered, overlapping, with markup, an empty line in a text, and a cue that crosses a
/// segment boundary.
const SRT: &str = "1\n00:00:05,000 --> 00:00:06,000\nlate <i>words</i>\n\n2\n00:00:00,250 --> 00:00:02,500\n<b>early</b>\nand R&B\n\n\
                   3\n00:00:01,000 --> 00:00:01,750\nat the same time\n\n4\n00:00:29,000 --> 00:00:31,000\nacross\n";

/// A subtitle file, read and written again by ffmpeg.
async fn as_srt(file: &Path) -> String {
    let run = Program::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-i"])
        .args([file])
        .args(["-map", "0:s:0", "-f", "srt", "-"])
        .run()
        .await;
    assert_eq!(run.stderr, "", "ffmpeg has nothing to complain of");
    run.stdout
}

#[tokio::test]
async fn ffmpeg_reads_the_same_cues_from_webvtt_and_source() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/long.m4a", fixture::long_audio()).await;
    let id = Tracks::of(&app, &media).added(&app.serve("/a.srt", Source::of(SRT)), "en", "English").await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let folder = tempfile::tempdir().unwrap();
    let read = async |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        as_srt(&path).await
    };
    let expected = read("source.srt", SRT.as_bytes()).await;
    assert_eq!(expected.matches("-->").count(), 4, "{expected}");
    let full = app.fetch(&format!("/{playback}/subtitles/{id}.vtt")).await;
    assert_eq!(read("whole.vtt", &full.body).await, expected);

    let manifest = app.url(&format!("/{playback}.m3u8"));
    let text_of = app.fetch(&format!("/{playback}.m3u8")).await.text();
    let line = text_of.lines().find(|line| line.contains("TYPE=SUBTITLES")).expect("it is listed");
    let playlist = line.split("URI=\"").nth(1).unwrap().trim_end_matches('"');
    let segments = m3u8_rs::parse_media_playlist_res(&app.fetch(&format!("/{playlist}")).await.body)
        .expect("m3u8-rs reads it")
        .segments;
    let seconds: f32 = segments.iter().map(|segment| segment.duration).sum();
    assert!((seconds - 35.0).abs() < 0.1, "{seconds} s are listed");
    let mut found = Vec::new();
    for segment in &segments {
        let segment = app.fetch(&format!("/{}", playlist.replace("playlist.m3u8", &segment.uri))).await;
        found.push(read("segment.vtt", &segment.body).await.matches("-->").count());
    }
    assert_eq!(found, [4, 1], "the cue that crosses the border is in both");
    // With subtitles the audio is unchanged.
    assert!(decoded(OsStr::new(&manifest), "a:0").await.is_some_and(|audio| audio.frames > 0));
}

#[tokio::test]
async fn subtitles_switch_on_change_language_and_switch_off() {
    let Some(web) = web() else { return };
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of(&app, &media);
    let srt =
        "1\n00:00:00,000 --> 00:00:05,000\nHello <i>there</i>\n\n2\n00:01:00,000 --> 00:01:01,000\nnever\n";
    let vtt = "WEBVTT\n\n00:00.000 --> 00:05.000 line:0\nGrüße\n";
    tracks.added(&app.serve("/a.srt", Source::of(srt)), "en-US", "English").await;
    tracks.added(&app.serve("/b.vtt", Source::of(vtt)), "de", "Deutsch").await;
    let page = app.url(&format!("/embed/{}", text(&media["playbackIds"][0]["id"])));
    let run = Program::new("node")
        .folder(&web)
        .args(["e2e/subtitles.mjs", &page, "English", "Deutsch", "English"])
        .run()
        .await;
    let seen = run.json();
    assert_eq!((&seen["problem"], &seen["console"]), (&Value::Null, &json!([])), "{seen:#}");
    let english = json!({"name": "English", "cues": ["Hello <i>there</i>"]});
    assert_eq!(seen["shown"], json!([english, {"name": "Deutsch", "cues": ["Grüße"]}, english]));
}
