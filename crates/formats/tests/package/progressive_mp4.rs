//! Progressive files made of whole sources: ffmpeg decodes the same frames from both, at the same times.

use std::io::Write as _;
use std::process::{Command, Stdio};

use kinora_formats::{Scanned, Scanner};
use kinora_index::Index;
use kinora_isobmff::write::{FilePiece, FileTrack, MovieFile, WriteError};

use crate::boxes::{find, parse};
use crate::patch_boxes::{changed, table, words};
use crate::source::{audio_track, packets, video_samples, video_track};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn index_of(bytes: &[u8]) -> Index {
    let mut scanner = Scanner::new(None);
    scanner.push(bytes).unwrap();
    scanner.finish().and_then(Scanned::into_index).unwrap()
}

/// The tracks of a file with the video and the default audio.
fn tracks(index: &Index) -> Vec<FileTrack<'_>> {
    let video = index.video().map(|(track, _)| track);
    let audio = index.audio().map(|(track, _)| track);
    video.into_iter().chain(audio).map(|track| FileTrack::copied(index, track).unwrap()).collect()
}

/// The bytes of a part of a file, piece by piece.
fn part(file: &MovieFile, tracks: &[FileTrack<'_>], source: &[u8], from: u64, to: u64) -> Vec<u8> {
    let (mut bytes, mut at) = (Vec::new(), from);
    while let Some((piece, end)) = file.piece(tracks, at, to) {
        match piece {
            FilePiece::Head(head) => bytes.extend_from_slice(head),
            FilePiece::Samples { ranges, .. } => {
                ranges
                    .iter()
                    .for_each(|range| bytes.extend(&source[range.offset as usize..range.end() as usize]));
            }
        }
        assert_eq!(bytes.len() as u64, end - from, "a piece is as long as it says");
        at = end;
    }
    assert_eq!(at, to.min(file.total_len()).max(from));
    bytes
}

fn made(source: &[u8]) -> Vec<u8> {
    let index = index_of(source);
    let tracks = tracks(&index);
    let file = MovieFile::new(&tracks).unwrap();
    part(&file, &tracks, source, 0, u64::MAX)
}

/// A frame: its start in microseconds, and the hash of its decoded data.
type Frame = (i64, String);

/// ffmpeg's output for a stream of a file; video frame by frame, audio as its start and one hash.
#[expect(clippy::disallowed_methods, reason = "the judge of the file")]
fn frames(file: &[u8], stream: &str) -> Vec<Frame> {
    let mut source = tempfile::NamedTempFile::new().unwrap();
    source.write_all(file).unwrap();
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-copyts", "-i"])
        .arg(source.path())
        .args(["-map", stream, "-fps_mode", "passthrough", "-enc_time_base", "1:1000000"])
        .args(["-f", "framehash", "-hash", "md5", "-"])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<_> = line.split(',').map(str::trim).collect();
            (fields[2].parse().unwrap(), fields[5].to_owned())
        })
        .collect()
}

/// Clocks of containers round to a millisecond at worst, twice.
const NEAR_US: i64 = 2_000;

/// The origin of compared times.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// The first instant of all tracks.
    First,
    /// The first instant of each track: some programs shift the video of a fragmented movie by the delay of
    /// its decoder, and the index does not.
    Own,
}

/// Builds a file of a source and compares: the same frames, at the same times from the first instant of all
/// tracks on.
fn check(name: &str, source: &[u8]) {
    check_from(name, source, From::First);
}

fn check_from(name: &str, source: &[u8], from: From) {
    let file = made(source);
    let index = index_of(source);
    let mut streams = Vec::new();
    if index.video().is_some() {
        streams.push("0:v:0".to_owned());
    }
    if let Some(number) = index.audio_number() {
        streams.push(format!("0:a:{number}"));
    }
    let ours: Vec<_> = streams.iter().map(|stream| frames(&file, &stream[..3])).collect();
    // In fragmented movies ffmpeg also outputs frames that the edit lists hide.
    let shown = |frames: Vec<Frame>| frames.into_iter().filter(|(at, _)| 0 <= *at).collect::<Vec<_>>();
    let theirs: Vec<_> = streams.iter().map(|stream| shown(frames(source, stream))).collect();
    let begin = |all: &[Vec<Frame>]| all.iter().map(|frames| frames[0].0).min().unwrap();
    let begins = (begin(&ours), begin(&theirs));
    for ((ours, theirs), stream) in ours.iter().zip(&theirs).zip(&streams) {
        let (our_begin, their_begin) = if from == From::First { begins } else { (ours[0].0, theirs[0].0) };
        let hashes = |frames: &[Frame]| frames.iter().map(|(_, hash)| hash.clone()).collect::<Vec<_>>();
        assert_eq!(hashes(ours), hashes(theirs), "{name} {stream}");
        for (n, ((at, _), (expected, _))) in ours.iter().zip(theirs).enumerate() {
            let late = (at - our_begin) - (expected - their_begin);
            assert!(late.abs() <= NEAR_US, "{name} {stream}: frame {n} is {late} us late");
        }
    }
}

#[test]
fn progressive_mp4_decodes_to_the_same_frames() {
    for name in [
        "faststart.mp4",
        "moov_at_end.mp4",
        "rotated.mp4",
        "variable_rate.mp4",
        "video_only.mp4",
        "hevc.mp4",
        "late_audio.mp4",
    ] {
        check(name, &fixture(name));
    }
}

#[test]
fn progressive_mp4_of_fragmented_source_decodes_to_the_same_frames() {
    check("dash.mp4", &fixture("dash.mp4"));
    for name in ["cmaf.mp4", "every_frame.mp4", "smooth.mp4"] {
        check_from(name, &fixture(name), From::Own);
    }
}

#[test]
fn progressive_mp4_of_matroska_decodes_to_the_same_frames() {
    for name in ["h264_aac.mkv", "variable_rate.mkv"] {
        check(name, &fixture(name));
    }
}

#[test]
fn any_byte_range_of_mp4_matches_the_file() {
    let source = fixture("faststart.mp4");
    let index = index_of(&source);
    let tracks = tracks(&index);
    let file = MovieFile::new(&tracks).unwrap();
    let complete = part(&file, &tracks, &source, 0, u64::MAX);
    assert_eq!(complete.len() as u64, file.total_len());
    let len = file.total_len();
    let step = (len / 97).max(1);
    for from in
        (0..len).step_by(step as usize).chain([file.head_len() - 1, file.head_len(), len - 1, len, len + 9])
    {
        for to in [from, from + 1, from + step, len, u64::MAX] {
            let expected = complete.get(from as usize..to.min(len) as usize).unwrap_or_default();
            assert_eq!(part(&file, &tracks, &source, from, to), expected, "{from}..{to}");
        }
    }
    assert_eq!(MovieFile::new(&tracks).unwrap().total_len(), len);
}

#[test]
fn mp4_has_moov_first_and_interleaved_tracks() {
    let file = made(&fixture("faststart.mp4"));
    let kinds: Vec<_> = parse(&file).iter().map(|found| found.kind.to_owned()).collect();
    assert_eq!(kinds, ["ftyp", "moov", "mdat"]);
    let mut chunks: Vec<(u32, usize)> = Vec::new();
    let moov = find(&file, "moov").body;
    let tracks = parse(moov).into_iter().filter(|found| found.kind == "trak");
    for (track, trak) in tracks.enumerate() {
        let offsets = find(trak.body, "mdia/minf/stbl/stco").body;
        for offset in offsets[8..].chunks(4) {
            chunks.push((u32::from_be_bytes(offset.try_into().unwrap()), track));
        }
    }
    chunks.sort_unstable();
    // Half seconds of a clip of 3 s.
    assert!(chunks.len() >= 10, "{chunks:?}");
    let switches = chunks.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    assert!(switches >= 9, "{chunks:?}");
    let payload = parse(&file)[2].start as u32 + 8;
    assert_eq!(chunks[0].0, payload, "the first chunk follows the header");
}

#[test]
fn mp4_keeps_rotation_and_display_size() {
    let (source, file) = (fixture("rotated.mp4"), made(&fixture("rotated.mp4")));
    let header = |bytes: &[u8]| find(bytes, "moov/trak/tkhd").body[40..84].to_vec();
    assert_eq!(header(&file), header(&source));
}

#[test]
fn mp4_keeps_edit_list_trims() {
    const DELAY: u32 = 2048;
    let list = words(&[0, 1, 1400, DELAY + 15_360, 0x0001_0000]);
    let source = changed(&fixture("moov_at_end.mp4"), &["moov", "trak", "edts", "elst"], &|_| list.clone());
    check("trimmed at both ends", &source);
    let index = index_of(&source);
    assert_eq!(index.video().unwrap().0.end, 1400 * 15_360 / 1000, "it was trimmed");
}

#[test]
fn mp4_has_no_negative_composition_offsets() {
    let source = changed(&fixture("moov_at_end.mp4"), &table("ctts"), &|ctts| {
        let rows = ctts[8..].chunks(8).flat_map(|row| {
            let offset = u32::from_be_bytes(row[4..].try_into().unwrap()).wrapping_sub(2048);
            [&row[..4], &offset.to_be_bytes()].concat()
        });
        [1, 0, 0, 0].into_iter().chain(ctts[4..8].to_vec()).chain(rows).collect()
    });
    let list = words(&[0, 1, 3000, 0, 0x0001_0000]);
    let source = changed(&source, &["moov", "trak", "edts", "elst"], &|_| list.clone());
    check("negative offsets", &source);
    let offsets = find(&made(&source), "moov/trak/mdia/minf/stbl/ctts").body.to_vec();
    assert_eq!(offsets[0], 0, "a version in which none is negative");
}

#[test]
fn single_track_mp4_starts_at_requested_time() {
    let source = fixture("video_only.mp4");
    let index = index_of(&source);
    let (track, _) = index.video().unwrap();
    let late =
        FileTrack { start: i64::from(track.timescale) * 2, ..FileTrack::copied(&index, track).unwrap() };
    let tracks = [late];
    let file = MovieFile::new(&tracks).unwrap();
    let bytes = part(&file, &tracks, &source, 0, u64::MAX);
    let (ours, theirs) = (frames(&bytes, "0:v"), frames(&source, "0:v"));
    assert_eq!(ours.len(), theirs.len());
    assert!((ours[0].0 - theirs[0].0 - 2_000_000).abs() <= NEAR_US, "{} {}", ours[0].0, theirs[0].0);
}

#[test]
fn mp4_skips_tracks_that_are_not_copied() {
    let index = index_of(&fixture("interlaced.mp4"));
    let (track, video) = index.video().unwrap();
    assert!(video.not_copied.is_some());
    assert!(FileTrack::copied(&index, track).is_none());
    let empty = FileTrack { track, samples: 0..0, start: 0 };
    assert_eq!(MovieFile::new(&[empty]).unwrap_err(), WriteError::NoSamples { number: 0 });
    let index = index_of(&fixture("vp8_vorbis.webm"));
    let (track, _) = index.video().unwrap();
    let foreign = FileTrack { track, samples: 0..1, start: 0 };
    assert_eq!(MovieFile::new(&[foreign]).unwrap_err(), WriteError::SampleEntry);
}

#[test]
fn long_mp4_uses_64_bit_chunk_offsets() {
    // 10 min, with keyframes large enough that the file exceeds 4 GiB.
    let mut samples = [video_samples(18_000), packets(28_125)];
    samples[0].iter_mut().filter(|sample| sample.is_sync).for_each(|sample| sample.size = 16 << 20);
    let mut offset = 40;
    for sample in samples.iter_mut().flatten() {
        sample.offset = offset;
        offset += u64::from(sample.size);
    }
    let (video, audio) = (video_track(&samples[0]), audio_track(&samples[1]));
    let file_track = |track| FileTrack { track, samples: 0..track.samples.len(), start: 0 };
    let tracks = [file_track(&video), file_track(&audio)];
    let file = MovieFile::new(&tracks).unwrap();
    assert!(file.total_len() > 1 << 32);
    // Durations are all equal. The rest is a size, an offset and a run of it for each frame, a size for each
    // packet, and the chunks.
    let count = (samples[0].len() + samples[1].len()) as u64;
    assert!(file.weight() < 10 * count, "{} bytes for {count} samples", file.weight());

    let (mut head, mut at) = (Vec::new(), 0);
    while let Some((FilePiece::Head(piece), end)) = file.piece(&tracks, at, file.head_len()) {
        head.extend_from_slice(piece);
        at = end;
    }
    assert_eq!(head.len() as u64, file.head_len());
    let header = &head[head.len() - 16..];
    assert_eq!(
        (&header[..8], file.total_len() - file.head_len() + 16),
        (&b"\0\0\0\x01mdat"[..], u64::from_be_bytes(header[8..].try_into().unwrap()))
    );
    let moov = find(&head, "moov").body;
    for (number, trak) in parse(moov).into_iter().filter(|found| found.kind == "trak").enumerate() {
        let offsets = find(trak.body, "mdia/minf/stbl/co64").body;
        for chunk_offset in offsets[8..].chunks(8) {
            let place = u64::from_be_bytes(chunk_offset.try_into().unwrap());
            let Some((FilePiece::Samples { track, ranges }, _)) = file.piece(&tracks, place, u64::MAX) else {
                panic!("no samples at {place}")
            };
            assert_eq!(track, number);
            let is_first = samples[track].iter().any(|sample| sample.offset == ranges[0].offset);
            assert!(is_first, "a chunk begins with a sample");
        }
    }
}
