//! Audio of every sample rate and codec: the manifest and the report list the same renditions, and the
//! duration does not change.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use kinora_domain::{PresentationId, RenditionId};
use kinora_testkit::fixture::containers::tone;
use kinora_testkit::{Source, fixture};
use serde_json::Value;

use super::probe::decoded_seconds;
use crate::support::{TestApp, text, until};

/// A frame of AAC at the lowest sample rate is 128 ms.
///
/// The audio of a source may end inside a frame, and encoders add one at the start.
const SLACK_FRAMES: f64 = 2.0;

/// A file, and the audio renditions that players are offered.
struct Case {
    extension: &'static str,
    options: &'static str,
    names: &'static [&'static str],
    /// Sample rate of the decoded audio.
    rate: f64,
}

fn names(of: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    of.into_iter().collect()
}

/// The names of the audio and video renditions in a manifest.
async fn listed(app: &TestApp, manifest: &str) -> (BTreeSet<String>, String) {
    let answer = app.fetch(manifest).await;
    let parsed = m3u8_rs::parse_master_playlist_res(&answer.body).expect("m3u8-rs reads it");
    let variants = parsed.variants.iter().filter(|variant| !variant.is_i_frame);
    let variants: Vec<_> = variants.collect();
    let uris = variants.iter().map(|variant| variant.uri.clone());
    let uris = uris.chain(parsed.alternatives.iter().filter_map(|audio| audio.uri.clone()));
    let name = |uri: String| uri.rsplit('/').nth(1).expect("a folder").to_owned();
    (names(uris.map(name)), variants[0].codecs.clone().expect("players choose by it"))
}

fn reported(media: &Value) -> BTreeSet<String> {
    let renditions = media["playbackReport"]["renditions"].as_array().expect("a list");
    names(renditions.iter().map(|rendition| text(&rendition["name"]).to_owned()))
}

#[tokio::test]
async fn audio_duration_is_exact_for_every_rate_and_codec() {
    let (copied, encoded): (&[&str], &[&str]) = (&["audio"], &["aac"]);
    let aac = |options, rate| Case { extension: "m4a", options, names: copied, rate };
    let other = |extension, options| Case { extension, options, names: encoded, rate: 48_000.0 };
    let cases = [
        aac("-c:a aac -ac 1 -ar 22050", 22_050.0),
        aac("-c:a aac -ac 2 -ar 96000", 96_000.0),
        aac("-c:a aac -ac 1 -ar 8000", 8_000.0),
        Case { extension: "mka", options: "-c:a aac -ac 1 -ar 11025", names: copied, rate: 11_025.0 },
        other("m4a", "-c:a aac -ac 6 -b:a 192k"),
        other("webm", "-c:a libopus"),
        other("mka", "-ac 2 -c:a libvorbis"),
        other("mka", "-ac 2 -c:a dca -strict -2"),
        other("mka", "-ac 2 -c:a truehd -strict -2"),
        other("mka", "-ac 2 -c:a ac3"),
        other("mka", "-ac 1 -c:a flac"),
        other("mka", "-ac 1 -c:a pcm_s16le -bsf:a setts=ts=0"),
        other("wav", "-ac 1 -ar 8000 -c:a adpcm_ima_wav"),
        other("wav", "-ac 2 -ar 11025 -c:a adpcm_ms"),
        other("wav", "-ac 1 -ar 22050 -c:a pcm_mulaw"),
        other("caf", "-ac 1 -c:a alac"),
        other("wv", "-ac 1 -c:a wavpack"),
    ];
    let app = TestApp::options().without_webhook().start().await;
    let folder = tempfile::tempdir().unwrap();
    for (number, case) in cases.iter().enumerate() {
        let name = format!("{} {}", case.extension, case.options);
        let file = tone(case.extension, case.options);
        let source = folder.path().join(format!("{number}.{}", case.extension));
        std::fs::write(&source, &file).unwrap();
        let url = app.serve(&format!("/{number}"), Source::of(file));
        let media = app.wait_settled(text(&app.create(&url).await["id"])).await;
        assert_eq!(media["status"], "Ready", "{name}: {media}");

        let manifest = format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]));
        let (found, codecs) = listed(&app, &manifest).await;
        assert_eq!(found, names(case.names.iter().map(|name| (*name).to_owned())), "{name}");
        assert_eq!(reported(&media), found, "{name}");
        assert_eq!(codecs, "mp4a.40.2", "{name}");

        let (was, is) = (
            decoded_seconds(source.as_os_str()).await,
            decoded_seconds(OsStr::new(&app.url(&manifest))).await,
        );
        let slack = SLACK_FRAMES * 1024.0 / case.rate;
        assert!((is - was).abs() <= slack, "{name}: {is} s of {was} s are heard");
    }
}

#[tokio::test]
async fn playback_report_matches_the_listed_renditions() {
    let app = TestApp::options().without_webhook().start().await;
    for (path, file, expected) in [
        ("/opus-beside-av1.mp4", fixture::av1_opus(), ["240p", "aac", "audio", "video"].as_slice()),
        ("/six-channels.mp4", fixture::surround_5_1(), &["aac", "video"]),
        ("/opus-beside-vp9.webm", fixture::vp9_webm(), &["240p", "aac"]),
    ] {
        let media = app.ready(path, file).await;
        let (found, _) = listed(&app, &format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]))).await;
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{path}");
        assert_eq!(reported(&media), found, "{path}");
    }
}

#[tokio::test]
async fn failed_rendition_is_neither_listed_nor_reported() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/wide.mp4", fixture::large_two_tracks()).await;
    let (id, manifest) = (text(&media["id"]), format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    let media_id = id.parse().unwrap();
    let stored = app.store.media_by_id(media_id).await.unwrap().unwrap();
    let kinora_domain::MediaState::Ready { source, .. } = stored.state else { panic!("it is ready") };
    let (rendition, now) = (RenditionId::of_hash([7; 16]), stored.updated_at);
    app.store
        .write(async move |tx| {
            tx.insert_rendition(rendition, PresentationId::of(source), "240p", now).await?;
            tx.set_rendition_broken(rendition, now).await
        })
        .await
        .unwrap();
    let broken = serde_json::json!(["240p"]);
    // Another process wrote the report.
    let updated = until("the report tells it", async || {
        let media_now = app.get(id).await.data();
        (media_now["playbackReport"]["broken"] == broken).then_some(media_now)
    })
    .await;
    assert_eq!(reported(&updated), names(["video".to_owned(), "audio".to_owned()]));
    assert_eq!(listed(&app, &manifest).await.0, reported(&updated));
}
