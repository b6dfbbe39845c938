//! A playlist as one stream: its media one after another, in any mix of formats.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use kinora_testkit::fixture;
use m3u8_rs::{MasterPlaylist, MediaPlaylist};
use serde_json::{Value, json};

use super::probe::{decoded, packets};
use crate::support::{TestApp, text};

const ALL: &str = "/v1/on-demand/playlists";
/// The maximum error in seconds of a sum of rounded durations.
const ROUNDING_S: f64 = 1e-4;

/// Creates a manual playlist of these media.
async fn playlist_of(app: &TestApp, media: &[&Value]) -> String {
    let body = json!({"name": "N", "referenceId": media.len().to_string(), "type": "manual"});
    let made = app.call("POST", ALL).json(&body).send().await.data();
    let id = text(&made["id"]).to_owned();
    let ids: Vec<_> = media.iter().map(|media| &media["id"]).collect();
    if !ids.is_empty() {
        let path = format!("{ALL}/{id}/media");
        let filled = app.call("PATCH", &path).json(&json!({"mediaIds": ids})).send().await;
        assert_eq!(filled.status, 200, "{filled:?}");
    }
    id
}

/// The durations of the media in a playlist of one rendition, in order, and the paths in it.
struct Listed {
    seconds: Vec<f64>,
    inits: Vec<String>,
    paths: Vec<String>,
}

impl Listed {
    async fn fetch(app: &TestApp, path: &str) -> Self {
        let answer = app.fetch(path).await;
        assert_eq!(answer.header("content-type"), Some("application/vnd.apple.mpegurl"));
        assert_eq!(answer.header("cache-control"), Some("public, max-age=2"), "it may change");
        let parsed: MediaPlaylist =
            m3u8_rs::parse_media_playlist_res(&answer.body).expect("m3u8-rs reads it");
        assert!(parsed.end_list && parsed.playlist_type.is_none());
        let mut listed = Self { seconds: Vec::new(), inits: Vec::new(), paths: Vec::new() };
        for segment in &parsed.segments {
            if segment.discontinuity || listed.seconds.is_empty() {
                assert!(segment.map.is_some(), "each media has init segments of its own");
                listed.seconds.push(0.0);
            }
            let (_, file) = segment.uri.rsplit_once("../").expect("relative to the playlist");
            let up = if segment.uri.starts_with("../../") { "" } else { "/playlist" };
            listed.paths.push(format!("{up}/{file}"));
            if let Some(map) = &segment.map {
                let (_, init) = map.uri.rsplit_once("../").expect("relative to the playlist");
                listed.inits.push(format!("{up}/{init}"));
            }
            assert!(segment.duration.round() as u64 <= parsed.target_duration, "RFC 8216, 4.3.3.1");
            *listed.seconds.last_mut().expect("pushed above") += f64::from(segment.duration);
        }
        listed
    }
}

async fn multivariant(app: &TestApp, id: &str) -> MasterPlaylist {
    let answer = app.fetch(&format!("/playlist/{id}.m3u8")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("public, max-age=2"), "it may change");
    m3u8_rs::parse_master_playlist_res(&answer.body).expect("m3u8-rs reads it")
}

/// The last two segments of each path.
fn names(paths: &[String]) -> Vec<String> {
    let name = |path: &String| {
        let parts: Vec<_> = path.rsplitn(3, '/').take(2).collect();
        format!("{}/{}", parts[1], parts[0])
    };
    paths.iter().map(name).collect()
}

#[tokio::test]
async fn playlist_plays_mixed_codecs() {
    let app = TestApp::options().without_webhook().start().await;
    let both = app.ready("/both.mp4", fixture::two_seconds()).await;
    let silent = app.ready("/silent.mp4", fixture::video_only()).await;
    let dark = app.ready("/dark.m4a", fixture::audio_only()).await;
    let other = app.ready("/other.mp4", fixture::hevc()).await;
    let media = [&both, &silent, &dark, &other];
    let id = playlist_of(&app, &media).await;
    let parsed = multivariant(&app, &id).await;
    let group = &parsed.alternatives[0];
    assert_eq!(parsed.alternatives.len(), 1);
    let audio =
        Listed::fetch(&app, &format!("/playlist/{}", group.uri.as_deref().expect("an address"))).await;
    assert_eq!(audio.seconds.len(), media.len());
    assert_eq!(
        names(&audio.inits),
        ["audio/init.mp4", "filler/silence.mp4", "audio/init.mp4", "audio/init.mp4"]
    );
    let mut addresses: BTreeSet<String> = audio.paths.iter().chain(&audio.inits).cloned().collect();
    assert!(!parsed.variants.is_empty());
    for variant in &parsed.variants {
        assert_eq!(variant.audio.as_deref(), Some(group.group_id.as_str()));
        let codecs = variant.codecs.as_deref().expect("players choose by them");
        assert!(codecs.starts_with("avc1.64") && codecs.ends_with(",avc1.42c00b,mp4a.40.2"), "{codecs}");
        let path = format!("/playlist/{}", variant.uri);
        let video = Listed::fetch(&app, &path).await;
        // A player aligns audio and video by the sums of the durations.
        assert_eq!(video.seconds.len(), media.len(), "{path}");
        for (video_s, audio_s) in video.seconds.iter().zip(&audio.seconds) {
            assert!((video_s - audio_s).abs() < ROUNDING_S, "{path}: {video_s} {audio_s}");
        }
        addresses.extend(video.paths.iter().chain(&video.inits).cloned());
    }
    let largest = Listed::fetch(&app, &format!("/playlist/{}", parsed.variants[0].uri)).await;
    let made_of = ["video/init.mp4", "video/init.mp4", "filler/black.mp4", "240p/init.mp4"];
    assert_eq!(names(&largest.inits), made_of, "copies in H.264, black, and other codecs encoded");

    for address in &addresses {
        let answer = app.fetch(address).await;
        assert_eq!(answer.status, 200, "{address}");
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"), "{address}");
    }
    // ffprobe reads all of it: the video frames, and one black frame per second.
    let url = app.url(&format!("/playlist/{id}.m3u8"));
    let (video_packets, _) = packets(OsStr::new(&url), "v:0").await;
    assert_eq!(video_packets.len(), 50 + 50 + 2 + frames_of(&other));
    let (audio_packets, _) = packets(OsStr::new(&url), "a:0").await;
    assert!(audio_packets.len() > 4 * 85, "{}", audio_packets.len());
}

/// Frames of a media at 25 frames per second.
fn frames_of(media: &Value) -> usize {
    let seconds: usize = text(&media["duration"])[6..].parse().expect("seconds");
    seconds * 25
}

#[tokio::test]
async fn playlist_of_audio_only_media_has_no_video() {
    let app = TestApp::options().without_webhook().start().await;
    let first = app.ready("/a.m4a", fixture::audio_only()).await;
    let second = app.ready("/b.m4a", fixture::audio_only()).await;
    let id = playlist_of(&app, &[&first, &second]).await;
    let parsed = multivariant(&app, &id).await;
    assert_eq!((parsed.variants.len(), parsed.alternatives.len()), (1, 0));
    assert_eq!(
        (parsed.variants[0].resolution, parsed.variants[0].codecs.as_deref()),
        (None, Some("mp4a.40.2"))
    );
    let url = app.url(&format!("/playlist/{id}.m3u8"));
    assert_eq!(decoded(OsStr::new(&url), "v:0").await, None);
    let audio = Listed::fetch(&app, &format!("/playlist/{}", parsed.variants[0].uri)).await;
    assert_eq!(audio.seconds.len(), 2);
}

#[tokio::test]
async fn filler_segments_decode_to_black_and_silence() {
    let app = TestApp::options().without_webhook().start().await;
    let folder = tempfile::tempdir().expect("a folder");
    for (kind, files, stream, frames) in [
        ("black", ["black.mp4", "black-0-188.m4s", "black-188-50.m4s"], "v:0", 6),
        // The priming is an additional frame.
        ("silence", ["silence.mp4", "silence-0-188.m4s", "silence-188-50.m4s"], "a:0", 188 + 50),
    ] {
        let mut bytes = Vec::new();
        for file in files {
            let answer = app.fetch(&format!("/playlist/filler/{file}")).await;
            assert_eq!(answer.status, 200, "{file}");
            bytes.extend_from_slice(&answer.body);
        }
        let path = folder.path().join(format!("{kind}.mp4"));
        std::fs::write(&path, bytes).expect("the disk has room");
        let found = decoded(path.as_os_str(), stream).await.expect("a stream");
        assert!(found.frames.abs_diff(frames) <= 1, "{kind}: {found:?}");
    }
    for none in ["black-0-189.m4s", "silence-1-0.m4s", "grey.mp4", "black-01-1.m4s"] {
        assert_eq!(app.fetch(&format!("/playlist/filler/{none}")).await.status, 404, "{none}");
    }
}

#[tokio::test]
async fn deleted_media_leave_playlist_at_once() {
    let app = TestApp::options().without_webhook().start().await;
    let (a, b) = (
        app.ready("/a.mp4", fixture::two_seconds()).await,
        app.ready("/b.mp4", fixture::two_seconds()).await,
    );
    let playback = |media: &Value| text(&media["playbackIds"][0]["id"]).to_owned();
    let id = playlist_of(&app, &[&a, &b]).await;
    let size = "240p";
    let listed = async || {
        let answer = app.fetch(&format!("/playlist/{id}/{size}.m3u8")).await;
        let text = answer.text();
        [&a, &b].map(|media| text.contains(&playback(media)))
    };
    assert_eq!(listed().await, [true, true]);

    // A playback ID with a rule is not used in playlists; another one of the same media replaces it.
    let ids = format!("/v1/on-demand/{}/playback-ids", text(&a["id"]));
    let rule = json!({"defaultPolicy": "deny"});
    let first = format!("{ids}/{}/domains", playback(&a));
    assert_eq!(app.call("PATCH", &first).json(&rule).send().await.status, 200);
    assert_eq!(listed().await, [false, true]);
    let second = app.call("POST", &ids).json(&json!({"accessPolicy": "public"})).send().await.data();
    let shown = app.fetch(&format!("/playlist/{id}/{size}.m3u8")).await.text();
    assert!(shown.contains(text(&second["id"])), "{shown}");
    let path = format!("{ids}?playbackId={}", text(&second["id"]));
    assert_eq!(app.call("DELETE", &path).send().await.status, 200);
    assert_eq!(listed().await, [false, true]);

    assert_eq!(app.delete(text(&b["id"])).await.status, 200);
    let mut transcript = String::new();
    for address in [format!("/playlist/{id}.m3u8"), format!("/playlist/{id}/{size}.m3u8")] {
        transcript += &app.golden().answer(&app.fetch(&address).await);
    }
    let empty = playlist_of(&app, &[]).await;
    transcript += &app.golden().answer(&app.fetch(&format!("/playlist/{empty}.m3u8")).await);
    assert_eq!(app.call("DELETE", &format!("{ALL}/{id}")).send().await.status, 200);
    for address in [
        format!("/playlist/{id}.m3u8"),
        format!("/playlist/{id}/audio.m3u8"),
        "/playlist/42.m3u8".to_owned(),
        format!("/playlist/{empty}.mpd"),
    ] {
        transcript += &app.golden().answer(&app.fetch(&address).await);
    }
    insta::assert_snapshot!("gone", transcript);
}
