//! Decodes a source, and the segments made of it, with ffmpeg: the same frames at the same times.

use std::io::Write as _;
use std::process::{Command, Stdio};

use kinora_formats::{Scanned, Scanner};
use kinora_isobmff::write::{init_segment, segment_head};

use crate::patch_boxes::{changed, table, words};
use crate::source::Source;

/// A frame: its presentation time in microseconds, and the hash of its pixels.
type TimedFrame = (i64, String);

/// Half of the refresh interval of a screen with 2000 frames per second. A shorter frame is invisible.
const SEEN_US_MIN: i64 = 250;

/// The frames of a file as ffmpeg shows them, the first one at 0. Invisible ones are left out.
#[expect(clippy::disallowed_methods, reason = "the judge of the packaged stream")]
fn frames(file: &[u8]) -> Vec<TimedFrame> {
    // From a file: ffmpeg cannot read a movie whose moov comes last from a pipe.
    let mut source = tempfile::NamedTempFile::new().unwrap();
    source.write_all(file).unwrap();
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-i"])
        .arg(source.path())
        .args(["-map", "0:v", "-fps_mode", "passthrough", "-enc_time_base", "1:1000000"])
        .args(["-f", "framehash", "-hash", "md5", "-"])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let all: Vec<TimedFrame> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let fields: Vec<_> = line.split(',').map(str::trim).collect();
            (fields[2].parse().unwrap(), fields[5].to_owned())
        })
        .collect();
    let nexts = all.iter().skip(1).map(|(at, _)| *at).chain([i64::MAX]);
    let first = all[0].0;
    let seen = all.iter().zip(nexts).filter(|((at, _), next)| SEEN_US_MIN <= next - at);
    seen.map(|((at, hash), _)| (at - first, hash.clone())).collect()
}

/// Packages the video of a file, and compares it with the file.
fn check(name: &str, bytes: Vec<u8>) {
    let expected = frames(&bytes);
    check_shows(name, bytes, &expected);
}

/// Packages the video of a file, and compares it with the expected frames.
fn check_shows(name: &str, bytes: Vec<u8>, expected: &[TimedFrame]) {
    let mut scanner = Scanner::new(None);
    scanner.push(&bytes).unwrap();
    let index = scanner.finish().and_then(Scanned::into_index);
    let source = Source { index: index.unwrap_or_else(|error| panic!("{name}: {error}")), bytes };
    let mut stream = init_segment(&source.index, source.video(), 0).unwrap();
    for number in 0..source.index.plan.video.len() as u32 {
        stream.extend(source.segment(&segment_head(&source.index, source.video(), number).unwrap()));
    }
    let found = frames(&stream);
    let hashes = |timed: &[TimedFrame]| timed.iter().map(|(_, hash)| hash.clone()).collect::<Vec<_>>();
    assert_eq!(hashes(&found), hashes(expected), "{name}: the frames");
    for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
        // Frames that an edit hides take a tick each; ffmpeg rounds to its own clock.
        assert!(
            (found.0 - expected.0).abs() <= 2000,
            "{name}: frame {n} at {} us, not {}",
            found.0,
            expected.0
        );
    }
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The clip of three GOPs of 15 frames with an edit list of milliseconds and ticks of the media.
fn edited(entries: &[(u32, u32)]) -> Vec<u8> {
    let rows = entries.iter().flat_map(|&(duration, media_time)| [duration, media_time, 0x0001_0000]);
    let list: Vec<u32> = [0, entries.len() as u32].into_iter().chain(rows).collect();
    changed(&fixture("moov_at_end.mp4"), &["moov", "trak", "edts", "elst"], &|_| words(&list))
}

#[test]
fn progressive_sources_decode_to_the_same_frames() {
    for name in ["moov_at_end.mp4", "quicktime.mov", "rotated.mp4", "timecode.mov", "variable_rate.mp4"] {
        check(name, fixture(name));
    }
}

#[test]
fn fragmented_sources_decode_to_the_same_frames() {
    let source = frames(&fixture("faststart.mp4"));
    assert_eq!(source.len(), 45);
    // Without an edit list the audio begins two frames before the video, whose first frame is shown from
    // there on.
    for (name, late_us) in [
        ("fragmented.mp4", 133_333),
        ("every_frame.mp4", 0),
        ("every_packet.mp4", 133_333),
        ("dash.mp4", 0),
        ("cmaf.mp4", 0),
        ("separate_moof.mp4", 133_333),
        ("hybrid.mp4", 133_333),
        ("one_fragment.mp4", 133_333),
        ("smooth.mp4", 0),
    ] {
        let late = |n: usize| if n == 0 { 0 } else { late_us };
        let expected: Vec<_> =
            source.iter().enumerate().map(|(n, (at, hash))| (at + late(n), hash.clone())).collect();
        check_shows(name, fixture(name), &expected);
    }
}

#[test]
fn edited_sources_decode_to_the_same_frames() {
    const DELAY: u32 = 2048;
    const SECOND: u32 = 15_360;
    check("contiguous", edited(&[(1000, DELAY), (2000, DELAY + SECOND)]));
    check("trimmed at both ends", edited(&[(1400, DELAY + SECOND)]));
    check("the middle is gone", edited(&[(1000, DELAY), (1000, DELAY + 2 * SECOND)]));
    check("the middle is gone, cut after B-frames", edited(&[(400, DELAY), (1000, DELAY + 2 * SECOND)]));
    check("last first", edited(&[(1000, DELAY + 2 * SECOND), (1000, DELAY)]));
}

#[test]
fn negative_composition_offsets_decode_to_the_same_frames() {
    let file = changed(&fixture("moov_at_end.mp4"), &table("ctts"), &|ctts| {
        let rows = ctts[8..].chunks(8).flat_map(|row| {
            let offset = u32::from_be_bytes(row[4..].try_into().unwrap()).wrapping_sub(2048);
            [&row[..4], &offset.to_be_bytes()].concat()
        });
        [1, 0, 0, 0].into_iter().chain(ctts[4..8].to_vec()).chain(rows).collect()
    });
    check(
        "negative",
        changed(&file, &["moov", "trak", "edts", "elst"], &|_| words(&[0, 1, 3000, 0, 0x0001_0000])),
    );
}
