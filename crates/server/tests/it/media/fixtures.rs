//! The expected output of each kind of file.

use std::ffi::OsStr;

use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::probe::{Packet, decoded, packets};
use super::stream::Stream;
use crate::support::{TestApp, text};

/// A file, and its expected stream.
///
/// Audio and video are those in the documentation of the fixtures.
struct Expected {
    /// Decoded frames.
    frames: Option<u64>,
    /// Audio packets that are sent.
    packets: Option<usize>,
    /// Display width and height.
    shown: Option<(u64, u64)>,
    /// Rotation of the coded frames by the player, in degrees counter-clockwise.
    rotation: i64,
    /// Channels and sample rate of the audio.
    audio: (u64, u64),
    /// Ticks of an audio packet.
    packet: i64,
    /// A packet that lasts until the audio starts, and its ticks; all others have the ticks above.
    longer: Option<(usize, i64)>,
    /// `VIDEO-RANGE` in the manifest.
    range: Option<&'static str>,
    /// Whether each segment can be decoded without another.
    has_independent_segments: bool,
    seconds: f64,
    /// Presentation time of the n-th frame, in seconds.
    shown_at: fn(u32) -> f64,
    duration: &'static str,
    aspect_ratio: Option<&'static str>,
}

/// Two seconds of video and stereo audio.
const PLAIN: Expected = Expected {
    frames: Some(50),
    packets: Some(95),
    shown: Some((160, 90)),
    rotation: 0,
    audio: (2, 48_000),
    packet: 1024,
    longer: None,
    range: Some("SDR"),
    has_independent_segments: true,
    seconds: 2.0,
    shown_at: |n| f64::from(n) / 25.0,
    duration: "00:00:02",
    aspect_ratio: Some("16:9"),
};

async fn check(name: &str, file: bytes::Bytes, expected: Expected) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source.mp4");
    std::fs::write(&source, &file).unwrap();

    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/source.mp4", file).await;
    check_facts(name, &media, &expected);

    let playback = text(&media["playbackIds"][0]["id"]);
    let manifest = app.url(&format!("/{playback}.m3u8"));
    let stream = Stream::fetch(&app, playback).await;
    check_manifest(name, &stream, &expected);
    // Of several audio renditions, the copied one.
    let audio_url = stream.audio.as_ref().map(|audio| app.url(&format!("{}playlist.m3u8", audio.folder)));
    let addresses = [OsStr::new(&manifest), OsStr::new(audio_url.as_ref().unwrap_or(&manifest))];
    check_decoded(name, source.as_os_str(), addresses, &stream, &expected).await;
    check_timeline(name, addresses, &stream, &expected).await;
}

/// Checks the fields of the API.
fn check_facts(name: &str, media: &Value, expected: &Expected) {
    assert_eq!(media["duration"], expected.duration, "{name}");
    assert_eq!(media["aspectRatio"].as_str(), expected.aspect_ratio, "{name}");
    assert_eq!(media["isAudioOnly"], expected.shown.is_none(), "{name}");
    for absent in ["source", "copy", "notCopied"] {
        assert_eq!(media["playbackReport"].get(absent), None, "{name}");
    }
    let mut tracks = media["tracks"].clone();
    for track in tracks.as_array_mut().expect("a list") {
        track.as_object_mut().expect("an object").remove("id");
    }
    let mut expected_tracks = Vec::new();
    if let Some((width, height)) = expected.shown {
        assert_eq!(media["frameRate"], "25/1", "{name}");
        assert_eq!(media["sourceResolution"], "240p", "{name}");
        expected_tracks.push(
            json!({"type": "video", "width": width, "height": height, "frameRate": "25/1", "status": "available"}),
        );
    } else {
        assert_eq!((media.get("frameRate"), &media["sourceResolution"]), (None, &Value::Null), "{name}");
    }
    if expected.packets.is_some() {
        expected_tracks.push(
            json!({"type": "audio", "status": "available", "languageCode": "und", "languageName": "Undetermined"}),
        );
    }
    assert_eq!(tracks, json!(expected_tracks), "{name}");
}

/// Checks that the manifest announces the content of its renditions.
fn check_manifest(name: &str, stream: &Stream, expected: &Expected) {
    assert_eq!(stream.resolution, expected.shown, "{name}");
    assert_eq!(stream.frame_rate, expected.frames.map(|_| 25.0), "{name}");
    assert_eq!(stream.range.as_deref(), expected.range, "{name}");
    assert_eq!(stream.has_independent_segments, expected.has_independent_segments, "{name}");
    for rendition in stream.renditions() {
        let (announced, seconds) = (rendition.announced(), rendition.seconds());
        assert!((announced - seconds).abs() < 0.001, "{name}: {announced} s announced, {seconds} s sent");
    }
    if let Some(video) = &stream.video {
        assert!((video.seconds() - expected.seconds).abs() < 0.001, "{name}: {} s", video.seconds());
    }
    assert_eq!(stream.audio.as_ref().map(|audio| audio.samples()), expected.packets, "{name}");
}

/// Checks that every frame of the source comes out of the stream unchanged.
async fn check_decoded(
    name: &str,
    source: &OsStr,
    [manifest, audio_url]: [&OsStr; 2],
    stream: &Stream,
    expected: &Expected,
) {
    let (video, audio) = (decoded(manifest, "v:0").await, decoded(audio_url, "a:0").await);
    assert_eq!(video.as_ref().map(|video| video.frames), expected.frames, "{name}");
    let codecs = [&video, &audio].into_iter().flatten().map(|found| found.codec.as_str()).collect::<Vec<_>>();
    assert_eq!(stream.codecs, codecs.join(","), "{name}");
    if let Some(video) = video {
        let original = decoded(source, "v:0").await.expect("the source has video");
        assert_eq!((video.shape, video.rotation), (original.shape, expected.rotation), "{name}");
        assert_eq!(original.rotation, expected.rotation, "{name}");
    }
    if let Some(audio) = audio {
        assert_eq!(audio.shape, expected.audio, "{name}");
        let channels = expected.audio.0.to_string();
        assert_eq!(stream.channels.as_deref(), expected.frames.map(|_| channels.as_str()), "{name}");
    }
}

/// Checks that frames have a constant interval from 0, and that audio packets have no gaps.
async fn check_timeline(
    name: &str,
    [manifest, audio_url]: [&OsStr; 2],
    stream: &Stream,
    expected: &Expected,
) {
    if let Some(frames) = expected.frames {
        let (packets, timescale) = packets(manifest, "v:0").await;
        assert_eq!(packets.len() as u64, frames, "{name}");
        let mut shown: Vec<i64> = packets.iter().map(|packet| packet.pts).collect();
        shown.sort_unstable();
        for (pts, n) in shown.into_iter().zip(0..) {
            let (found, expected_at) = (pts as f64 / timescale as f64, (expected.shown_at)(n));
            assert!(
                (found - expected_at).abs() < 1e-6,
                "{name}: frame {n} at {found} s, not at {expected_at} s"
            );
        }
        assert!(packets.is_sorted_by(|one, next| one.dts < next.dts), "{name}: {packets:?}");
    }
    if expected.packets.is_some() {
        let (packets, timescale) = packets(audio_url, "a:0").await;
        let gaps: Vec<i64> = packets.windows(2).map(|pair: &[Packet]| pair[1].pts - pair[0].pts).collect();
        let mut expected_gaps = vec![expected.packet; gaps.len()];
        if let Some((number, ticks)) = expected.longer {
            expected_gaps[number] = ticks;
        }
        assert_eq!(gaps, expected_gaps, "{name}: packet after packet");
        let audio = stream.audio.as_ref().expect("it is sent");
        assert_eq!(timescale, i64::from(audio.timescale), "{name}");
    }
}

#[tokio::test]
async fn faststart_clip_plays_completely() {
    check("two seconds", fixture::two_seconds(), PLAIN).await;
}

#[tokio::test]
async fn moov_at_end_clip_plays_completely() {
    check("moov at end", fixture::moov_at_end(), PLAIN).await;
}

#[tokio::test]
async fn fragmented_clips_play_completely() {
    check("fragmented", fixture::fragmented(), PLAIN).await;
    check("fragmented for DASH", fixture::fragmented_for_dash(), PLAIN).await;
}

#[tokio::test]
async fn clip_with_64_bit_offsets_plays_completely() {
    check("64 bit", fixture::sixty_four_bit(), PLAIN).await;
}

#[tokio::test]
async fn thirty_second_clip_plays_completely() {
    let long =
        Expected { frames: Some(750), packets: Some(1408), seconds: 30.0, duration: "00:00:30", ..PLAIN };
    check("thirty seconds", fixture::thirty_seconds(), long).await;
}

#[tokio::test]
async fn long_gop_clip_plays_completely() {
    let long =
        Expected { frames: Some(750), packets: Some(1408), seconds: 30.0, duration: "00:00:30", ..PLAIN };
    check("long groups", fixture::long_gop(), long).await;
}

#[tokio::test]
async fn video_only_clip_plays_completely() {
    check("video only", fixture::video_only(), Expected { packets: None, ..PLAIN }).await;
}

#[tokio::test]
async fn audio_only_clip_plays_completely() {
    let expected = Expected {
        frames: None,
        packets: Some(88),
        shown: None,
        audio: (2, 44_100),
        range: None,
        aspect_ratio: None,
        ..PLAIN
    };
    check("audio only", fixture::audio_only(), expected).await;
}

#[tokio::test]
async fn open_gop_hevc_plays_completely() {
    let open = Expected {
        frames: Some(100),
        packets: Some(189),
        seconds: 4.0,
        duration: "00:00:04",
        has_independent_segments: false,
        ..PLAIN
    };
    check("HEVC", fixture::hevc(), open).await;
}

#[tokio::test]
async fn hdr10_hevc_plays_completely() {
    check("HDR10", fixture::hevc_hdr10(), Expected { packets: None, range: Some("PQ"), ..PLAIN }).await;
}

#[tokio::test]
async fn av1_and_opus_play_completely() {
    check("AV1 and Opus", fixture::av1_opus(), Expected { packets: Some(101), packet: 960, ..PLAIN }).await;
}

/// The audio of the file starts at 0.493 s: 24 packets of silence, and the last of them is longer.
#[tokio::test]
async fn late_opus_is_preceded_by_silence() {
    let late =
        Expected { packets: Some(24 + 101), packet: 960, longer: Some((23, 23_664 - 23 * 960)), ..PLAIN };
    check("late Opus", fixture::late_opus(), late).await;
}

#[tokio::test]
async fn rotated_clip_is_announced_with_its_display_size() {
    let rotated = Expected { shown: Some((90, 160)), rotation: -90, aspect_ratio: Some("9:16"), ..PLAIN };
    check("rotated", fixture::rotated(), rotated).await;
}

/// The audio of the file starts at 9.978 s and its video at 10 s: the first frame is shown until the second
/// one.
#[tokio::test]
async fn start_offset_is_removed() {
    let late = Expected {
        seconds: 2.0 + 282.0 / 12_800.0,
        shown_at: |n| if n == 0 { 0.0 } else { 282.0 / 12_800.0 + f64::from(n) / 25.0 },
        ..PLAIN
    };
    check("start offset", fixture::start_offset(), late).await;
}

/// The audio of the file starts at 0.478 s: 22 packets of silence, and the last of them is longer.
#[tokio::test]
async fn late_audio_is_preceded_by_silence() {
    let late = Expected { packets: Some(22 + 95), longer: Some((21, 22_944 - 21 * 1024)), ..PLAIN };
    check("late audio", fixture::late_audio(), late).await;
}
