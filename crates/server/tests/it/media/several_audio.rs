//! Several audio tracks: one group that a viewer chooses from, and no track is shortened.

use std::ffi::OsStr;

use bytes::Bytes;
use kinora_testkit::fixture;
use m3u8_rs::MasterPlaylist;
use serde_json::{Value, json};

use super::probe::{hashes, packets};
use super::stream::Rendition;
use crate::support::{TestApp, text};

/// Packets of silence before the third track: its first packet, which holds the priming, starts 11,776
/// samples late.
const SILENT: usize = 11;

async fn manifest(app: &TestApp, playback: &str) -> MasterPlaylist {
    let answer = app.fetch(&format!("/{playback}.m3u8")).await;
    let mut manifest = m3u8_rs::parse_master_playlist_res(&answer.body).expect("m3u8-rs reads it");
    manifest.variants.retain(|variant| !variant.is_i_frame);
    manifest
}

/// Checks that every packet of each source track comes out of its rendition, after its packets of silence.
async fn check_packets(file: &Bytes, manifest: &str) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source.mp4");
    std::fs::write(&source, file).unwrap();
    for (number, silent) in [0, 0, SILENT].into_iter().enumerate() {
        let stream = format!("a:{number}");
        let expected = hashes(source.as_os_str(), &stream).await;
        let played = hashes(OsStr::new(manifest), &stream).await;
        assert_eq!(played.len(), silent + expected.len(), "{stream}");
        assert_eq!(played[silent..], expected, "{stream}");
        let (packets, _) = packets(OsStr::new(manifest), &stream).await;
        assert!(packets.is_sorted_by(|one, next| one.pts < next.pts), "{stream}");
    }
}

/// The tracks without their ids, which must be unique.
fn tracks(list: &Value) -> Vec<Value> {
    let mut tracks = list.as_array().expect("a list").clone();
    let mut ids: Vec<String> = tracks.iter().map(|track| text(&track["id"]).to_owned()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), tracks.len(), "ids are distinct");
    for track in &mut tracks {
        track.as_object_mut().expect("an object").remove("id");
    }
    tracks
}

fn audio(language_code: &str, language_name: &str) -> Value {
    json!({
        "type": "audio", "status": "available", "languageCode": language_code, "languageName": language_name,
    })
}

#[tokio::test]
async fn every_audio_track_is_listed_by_language_and_plays() {
    let app = TestApp::start().await;
    let file = fixture::several_audio();
    let media = app.ready("/several.mp4", file.clone()).await;
    let expected = [audio("en", "English"), audio("de", "German"), audio("en", "English (Commentary)")];
    assert_eq!(tracks(&media["tracks"])[1..], expected);
    let again = app.get(text(&media["id"])).await.data();
    assert_eq!(again["tracks"], media["tracks"]);
    let event = app.event("video.media.ready").await;
    assert_eq!(event["data"]["tracks"].as_array().map(Vec::len), Some(4), "{event}");
    for (emitted, stored) in
        event["data"]["tracks"].as_array().unwrap().iter().zip(media["tracks"].as_array().unwrap()).skip(1)
    {
        for field in ["id", "languageCode", "languageName"] {
            assert_eq!(emitted[field], stored[field], "{field}");
        }
    }

    let playback = text(&media["playbackIds"][0]["id"]);
    let playlist = manifest(&app, playback).await;
    let [variant] = playlist.variants.as_slice() else { panic!("one variant: {playlist:?}") };
    assert_eq!(variant.audio.as_deref(), Some("audio"));
    assert!(variant.codecs.as_deref().is_some_and(|codecs| codecs.ends_with(",mp4a.40.2")));
    let offered: Vec<_> = playlist
        .alternatives
        .iter()
        .map(|one| {
            (one.name.as_str(), one.language.as_deref(), one.default, one.autoselect, one.channels.as_deref())
        })
        .collect();
    assert_eq!(
        offered,
        [
            ("English", Some("en"), true, true, Some("1")),
            ("German", Some("de"), false, true, Some("1")),
            ("English (Commentary)", Some("en"), false, false, Some("1")),
        ]
    );

    let video = Rendition::fetch(&app, &format!("/{}", variant.uri)).await;
    for (alternative, name) in playlist.alternatives.iter().zip(["audio", "audio-2", "audio-3"]) {
        let uri = alternative.uri.as_deref().expect("each has a playlist");
        assert!(uri.ends_with(&format!("/{name}/playlist.m3u8")), "{uri}");
        let rendition = Rendition::fetch(&app, &format!("/{uri}")).await;
        assert_eq!(rendition.segments.len(), video.segments.len(), "{name} is cut where the video is");
        assert!((rendition.announced() - rendition.seconds()).abs() < 0.001, "{name}");
    }
    check_packets(&file, &app.url(&format!("/{playback}.m3u8"))).await;

    let beyond = playlist.alternatives[2].uri.as_deref().unwrap().replace("audio-3", "audio-4");
    assert_eq!(app.fetch(&format!("/{beyond}")).await.status, 404);
}

#[tokio::test]
async fn several_audio_only_tracks_form_one_group() {
    let app = TestApp::options().without_webhook().start().await;
    let file = fixture::several_audio_only();
    let media = app.ready("/several.m4a", file.clone()).await;
    // The copy made by ffmpeg has no title.
    let expected = [audio("en", "English"), audio("de", "German"), audio("en", "English (2)")];
    assert_eq!(tracks(&media["tracks"]), expected);
    assert_eq!(media["isAudioOnly"], true);

    let playback = text(&media["playbackIds"][0]["id"]);
    let playlist = manifest(&app, playback).await;
    let [variant] = playlist.variants.as_slice() else { panic!("one variant: {playlist:?}") };
    assert_eq!((variant.audio.as_deref(), variant.codecs.as_deref()), (Some("audio"), Some("mp4a.40.2")));
    assert_eq!(playlist.alternatives.len(), 3);
    assert_eq!(playlist.alternatives[0].uri.as_deref(), Some(variant.uri.as_str()));
}
