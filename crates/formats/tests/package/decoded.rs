//! What ffmpeg decodes of a source, and of the segments made of it: the same pictures at the same times.

use std::io::Write as _;
use std::process::{Command, Stdio};

use kinora_formats::{Scanned, Scanner};
use kinora_isobmff::write::{init_segment, segment_head};

use crate::source::Source;
use crate::surgery::{changed, table, words};

/// A picture: when it is shown in microseconds, and the hash of its pixels.
type Picture = (i64, String);

/// Half of the time a screen of 2000 pictures a second shows one. What stands for less is hidden.
const SEEN_US_MIN: i64 = 250;

/// The pictures of a file as ffmpeg shows them, the first one at 0. Those nobody sees are left out.
#[expect(clippy::disallowed_methods, reason = "the judge of the packaged stream")]
fn pictures(file: &[u8]) -> Vec<Picture> {
    // From a file: a movie whose index lies behind cannot be read from a pipe.
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
    let all: Vec<Picture> = text
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

/// Packages the video of a file, and compares with the file.
fn check(name: &str, bytes: Vec<u8>) {
    let expected = pictures(&bytes);
    check_shows(name, bytes, &expected);
}

/// Packages the video of a file, and compares with what it is to show.
fn check_shows(name: &str, bytes: Vec<u8>, expected: &[Picture]) {
    let mut scanner = Scanner::new(None);
    scanner.push(&bytes).unwrap();
    let index = scanner.finish().and_then(Scanned::into_index);
    let source = Source { index: index.unwrap_or_else(|error| panic!("{name}: {error}")), bytes };
    let mut stream = init_segment(&source.index, source.video(), 0).unwrap();
    for number in 0..source.index.plan.video.len() as u32 {
        stream.extend(source.segment(&segment_head(&source.index, source.video(), number).unwrap()));
    }
    let found = pictures(&stream);
    let hashes = |pictures: &[Picture]| pictures.iter().map(|(_, hash)| hash.clone()).collect::<Vec<_>>();
    assert_eq!(hashes(&found), hashes(expected), "{name}: the pictures");
    for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
        // What an edit hides takes a tick each; ffmpeg rounds to its own clock.
        assert!(
            (found.0 - expected.0).abs() <= 2000,
            "{name}: picture {n} at {} us, not {}",
            found.0,
            expected.0
        );
    }
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The clip of three groups of 15 pictures with an edit list of milliseconds and ticks of the media.
fn edited(entries: &[(u32, u32)]) -> Vec<u8> {
    let rows = entries.iter().flat_map(|&(duration, media_time)| [duration, media_time, 0x0001_0000]);
    let list: Vec<u32> = [0, entries.len() as u32].into_iter().chain(rows).collect();
    changed(&fixture("moov_at_end.mp4"), &["moov", "trak", "edts", "elst"], &|_| words(&list))
}

#[test]
fn whole_files_show_the_same_pictures_at_the_same_times() {
    for name in ["moov_at_end.mp4", "quicktime.mov", "rotated.mp4", "timecode.mov", "variable_rate.mp4"] {
        check(name, fixture(name));
    }
}

#[test]
fn movies_in_fragments_show_the_pictures_they_were_made_of() {
    let whole = pictures(&fixture("faststart.mp4"));
    assert_eq!(whole.len(), 45);
    // Without an edit list the sound begins two frames before the picture, whose first one is shown from
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
            whole.iter().enumerate().map(|(n, (at, hash))| (at + late(n), hash.clone())).collect();
        check_shows(name, fixture(name), &expected);
    }
}

#[test]
fn edited_files_show_the_same_pictures_at_the_same_times() {
    const DELAY: u32 = 2048;
    const SECOND: u32 = 15_360;
    check("contiguous", edited(&[(1000, DELAY), (2000, DELAY + SECOND)]));
    check("trimmed at both ends", edited(&[(1400, DELAY + SECOND)]));
    check("the middle is gone", edited(&[(1000, DELAY), (1000, DELAY + 2 * SECOND)]));
    check("the middle is gone, cut after B-frames", edited(&[(400, DELAY), (1000, DELAY + 2 * SECOND)]));
    check("last first", edited(&[(1000, DELAY + 2 * SECOND), (1000, DELAY)]));
}

#[test]
fn negative_offsets_show_the_same_pictures_at_the_same_times() {
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
