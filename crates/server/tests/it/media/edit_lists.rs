//! Unusual timing in files: an edit list that starts between keyframes, and fragments that all start at the
//! same time.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::probe::{decoded, packets};
use crate::support::{TestApp, text};

/// The report of a source, and the presentation times of its frames in seconds.
async fn played(file: bytes::Bytes) -> (Value, Vec<f64>) {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/source.mp4", file).await;
    let manifest = app.url(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    let manifest = OsStr::new(&manifest);
    let video = decoded(manifest, "v:0").await.expect("it has video");
    let (packets, timescale) = packets(manifest, "v:0").await;
    let mut times: Vec<_> = packets.iter().map(|packet| packet.pts as f64 / timescale as f64).collect();
    times.sort_unstable_by(f64::total_cmp);
    assert_eq!(video.frames, times.len() as u64);
    assert!(decoded(manifest, "a:0").await.is_some_and(|audio| audio.frames > 0));
    (media["playbackReport"].clone(), times)
}

fn renditions(report: &Value) -> BTreeMap<&str, &str> {
    let renditions = report["renditions"].as_array().expect("a list");
    renditions.iter().map(|rendition| (text(&rendition["name"]), text(&rendition["method"]))).collect()
}

fn assert_near(found: &[f64], expected: impl ExactSizeIterator<Item = f64>) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 0.001, "{found} s, not {expected}");
    }
}

/// The edit starts in the middle of the 13th frame, half a second into its GOP.
///
/// The hidden frames are needed to decode the rest.
#[tokio::test]
async fn edit_list_hides_frames() {
    let (report, times) = played(fixture::edit_list()).await;
    assert_eq!(renditions(&report), BTreeMap::from([("240p", "encoded"), ("audio", "copied")]));
    let reasons = report["notCopied"].as_array().expect("a list");
    assert_eq!((reasons.len(), &reasons[0]["detail"]), (1, &json!("edits between keyframes")));
    assert_near(&times, (0..38).map(|n| if n == 0 { 0.0 } else { f64::from(n) / 25.0 - 0.02 }));
}

#[tokio::test]
async fn fragments_with_zero_tfdt_play_in_sequence() {
    let mut file = fixture::fragmented().to_vec();
    let offsets: Vec<_> = (0..file.len() - 4).filter(|at| &file[*at..*at + 4] == b"tfdt").collect();
    assert!(offsets.len() > 2, "two fragments of two tracks");
    for at in offsets {
        // ISO/IEC 14496-12, 8.8.12: 64 bits in version 1.
        let len = if file[at + 4] == 1 { 8 } else { 4 };
        file[at + 8..at + 8 + len].fill(0);
    }
    let (report, times) = played(file.into()).await;
    assert_eq!(renditions(&report), BTreeMap::from([("audio", "copied"), ("video", "copied")]));
    assert_near(&times, (0..50).map(|n| f64::from(n) / 25.0));
}
