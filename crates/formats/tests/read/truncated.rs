//! Truncated files.

use kinora_index::Index;
use kinora_isobmff::ReadFailureCode;

use crate::{fixture, read};

/// End of the presentation of a track in milliseconds, rounded down.
fn end_ms(index: &Index, track: usize) -> i64 {
    index.tracks[track].end * 1000 / i64::from(index.tracks[track].timescale)
}

#[test]
fn any_mp4_prefix_plays_or_is_rejected() {
    check_prefixes(&fixture("faststart.mp4"));
}

#[test]
fn any_open_gop_prefix_plays_or_is_rejected() {
    check_prefixes(&fixture("hevc_open_gop.mp4"));
}

fn check_prefixes(bytes: &[u8]) {
    let complete = read(bytes).unwrap();
    let mut played = 0;
    for len in (0..bytes.len()).rev() {
        let index = match read(&bytes[..len]) {
            Ok(index) => index,
            Err(error) => {
                // Fewer bytes than a box header do not even identify an MP4 file; between two boxes no
                // header shows that more would follow.
                let is_clear = len >= 8 && bytes[len..].get(4..8) != Some(b"moov");
                let expected = if is_clear { ReadFailureCode::Truncated } else { ReadFailureCode::NotMedia };
                assert_eq!(error.code(), expected, "{len} bytes: {error}");
                continue;
            }
        };
        played += 1;
        assert!(index.is_truncated && index.facts().is_truncated, "{len} bytes");
        assert_eq!(index.source_len, len as u64);
        for (track, original) in index.tracks.iter().zip(&complete.tracks) {
            let samples: Vec<_> = track.samples.iter().collect();
            assert!(samples.iter().all(|sample| sample.offset + u64::from(sample.size) <= len as u64));
            assert_eq!(samples, original.samples.range(0..track.samples.len()).collect::<Vec<_>>());
        }
        // No frame of the playable part is missing: it has as many frames as fit before the end.
        let video = &index.tracks[0];
        let mut shown: Vec<_> = video.samples.iter().map(|sample| sample.pts + video.shift).collect();
        shown.sort_unstable();
        assert_eq!(
            shown,
            (0..i64::from(video.samples.len())).map(|n| n * 1024).collect::<Vec<_>>(),
            "{len} bytes"
        );
        assert_eq!(video.end, i64::from(video.samples.len()) * 1024);
        // Both tracks end together, within a packet and the end of the shorter track.
        let (video_end, audio_end) = (end_ms(&index, 0), end_ms(&index, 1));
        assert!(video_end >= 1000, "{len} bytes: {video_end} ms");
        assert!(audio_end <= video_end + 22, "{len} bytes: {audio_end} ms of audio, {video_end} ms of video");
        assert!(audio_end >= video_end - 22, "{len} bytes: {audio_end} ms of audio, {video_end} ms of video");
        assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
    }
    assert!(played > bytes.len() / 3, "{played} prefixes");
}

#[test]
fn truncated_audio_ends_at_last_complete_packet() {
    let bytes = fixture("audio_only.m4a");
    let moov = bytes.windows(4).position(|window| window == b"moov").unwrap() - 4;
    let mdat = bytes.windows(4).position(|window| window == b"mdat").unwrap() - 4;
    // The same file with its moov at the front; the samples move by its length.
    let moov_len = (bytes.len() - moov) as u32;
    let mut head = bytes[moov..].to_vec();
    let stco = head.windows(4).position(|window| window == b"stco").unwrap();
    let count = u32::from_be_bytes(head[stco + 8..stco + 12].try_into().unwrap()) as usize;
    for offset in head[stco + 12..stco + 12 + count * 4].chunks_mut(4) {
        let moved = u32::from_be_bytes(offset.try_into().unwrap()) + moov_len;
        offset.copy_from_slice(&moved.to_be_bytes());
    }
    let fast = [&bytes[..mdat], &head, &bytes[mdat..moov]].concat();
    let complete = read(&fast).unwrap();
    assert!(!complete.is_truncated);

    let at = complete.tracks[0].samples.get(100).unwrap();
    let index = read(&fast[..at.offset as usize + 3]).unwrap();
    assert!(index.is_truncated);
    assert_eq!(index.tracks[0].samples.len(), 100);
    assert_eq!(index.tracks[0].end, 99 * 1024);
    let error = read(&fast[..complete.tracks[0].samples.get(46).unwrap().offset as usize]).unwrap_err();
    assert_eq!(error.to_string(), "the file ends too early: less than a second of it can be played");
}

#[test]
fn truncated_source_drops_audio_tracks_that_end_early() {
    let bytes = fixture("several_audio.mp4");
    let complete = read(&bytes).unwrap();
    /// Duration of a packet at 32 kHz that begins just before the cut.
    const PACKET_MS: i64 = 32;
    let mut played = 0;
    for len in (0..bytes.len()).rev().step_by(101) {
        let Ok(index) = read(&bytes[..len]) else { continue };
        played += 1;
        assert_eq!(index.tracks.len(), complete.tracks.len(), "{len} bytes: the tracks are interleaved");
        for (track, source) in index.tracks.iter().zip(&complete.tracks) {
            assert!(track.samples.iter().all(|sample| sample.offset + u64::from(sample.size) <= len as u64));
            assert!(track.end <= source.end);
        }
        assert!((1..4).all(|track| end_ms(&index, track) <= end_ms(&index, 0) + PACKET_MS), "{len} bytes");
        assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
    }
    assert!(played > 20, "{played} prefixes");

    // A second track is after all the rest, and is missing.
    let file = fixture("moov_at_end.mp4");
    let index = read(&file).unwrap();
    let first_packet = index.tracks[1].samples.get(0).unwrap();
    let behind =
        crate::tracks::with_second_audio_moved_by(&file, file.len() as u32 - first_packet.offset as u32);
    let cut = read(&behind).unwrap();
    assert!(cut.is_truncated);
    assert_eq!(cut.tracks.iter().map(|track| track.source_track).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(cut.tracks[1].samples, index.tracks[1].samples);
}

#[test]
fn file_cut_before_its_moov_is_truncated() {
    let bytes = fixture("moov_at_end.mp4");
    for len in 40..bytes.len() {
        let error = read(&bytes[..len]).unwrap_err();
        // Exactly between two boxes, no header shows that more would follow.
        let is_between = bytes[len..].get(4..8) == Some(b"moov") || bytes[len..].get(4..8) == Some(b"mdat");
        let expected = if is_between { ReadFailureCode::NotMedia } else { ReadFailureCode::Truncated };
        assert_eq!(error.code(), expected, "{len} bytes: {error}");
    }
}

#[test]
fn unfinished_recording_is_truncated() {
    let bytes = fixture("moov_at_end.mp4");
    let mdat = bytes.windows(4).position(|window| window == b"mdat").unwrap();
    let moov = bytes.windows(4).position(|window| window == b"moov").unwrap() - 4;
    for size in [0u32, 8, 1 << 30] {
        let mut recording = bytes[..moov].to_vec();
        recording[mdat - 4..mdat].copy_from_slice(&size.to_be_bytes());
        let error = read(&recording).unwrap_err();
        assert_eq!(error.code(), ReadFailureCode::Truncated, "mdat of size {size}: {error}");
    }
}

#[test]
fn any_fragmented_prefix_plays_or_is_rejected() {
    for name in ["fragmented.mp4", "dash.mp4", "hybrid.mp4"] {
        let bytes = fixture(name);
        let complete = read(&bytes).unwrap();
        let ends = box_ends(&bytes);
        let mut played = 0;
        for len in 0..bytes.len() {
            // Exactly between two boxes, it is unknown that more would follow, unless a header announces it.
            let between = ends.iter().find(|(_, end)| *end == len).map(|(kind, _)| kind.as_str());
            let index = match read(&bytes[..len]) {
                Ok(index) => index,
                Err(error) => {
                    let is_unclear = len < 8 || matches!(between, Some("ftyp" | "moov" | "sidx"));
                    let is_stream = name != "hybrid.mp4" || between != Some("moov");
                    let expected = if is_unclear && is_stream {
                        ReadFailureCode::NotMedia
                    } else {
                        ReadFailureCode::Truncated
                    };
                    assert_eq!(error.code(), expected, "{name}, {len} bytes: {error}");
                    continue;
                }
            };
            played += 1;
            assert_eq!(
                index.is_truncated,
                between.is_none_or(|kind| ["moof", "moov"].contains(&kind)),
                "{name}, {len}"
            );
            for track in &index.tracks {
                let mut originals = complete.tracks.iter();
                let of_whole = originals.find(|other| other.source_track == track.source_track).unwrap();
                let samples: Vec<_> = track.samples.iter().collect();
                assert!(samples.iter().all(|sample| sample.offset + u64::from(sample.size) <= len as u64));
                assert_eq!(samples, of_whole.samples.range(0..track.samples.len()).collect::<Vec<_>>());
            }
            let end = (0..index.tracks.len()).map(|track| end_ms(&index, track)).max().unwrap();
            assert!(end >= 1000 || !index.is_truncated, "{name}, {len} bytes");
            assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
        }
        assert!(played > bytes.len() / 2, "{name}: {played} prefixes");
    }
}

/// Kind and end of each box at top level.
fn box_ends(bytes: &[u8]) -> Vec<(String, usize)> {
    let mut ends = Vec::new();
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + 8) {
        at += u32::from_be_bytes(head[..4].try_into().unwrap()) as usize;
        ends.push((String::from_utf8(head[4..].to_vec()).unwrap(), at));
    }
    ends
}

#[test]
fn unfinished_fragmented_recording_plays_to_last_complete_fragment() {
    let bytes = fixture("fragmented.mp4");
    let complete = read(&bytes).unwrap();
    let fragments: Vec<_> = box_ends(&bytes).into_iter().filter(|(kind, _)| kind == "mdat").collect();
    let second = fragments[1].1;
    let count = read(&bytes[..second]).unwrap().tracks[0].samples.len();
    assert_eq!((count, complete.tracks[0].samples.len()), (30, 45));
    // A recorder reserves space, or writes the size of a box before its bytes.
    for (tail, is_truncated) in [
        (&[0; 5000][..], false),
        (b"\0\0\x10\0mdat", true),
        (b"\0\0\x10\0moof\0\0\0\x10mfhd", true),
        (b"\0\0", true),
    ] {
        let index = read(&[&bytes[..second], tail].concat()).unwrap();
        assert_eq!((index.tracks[0].samples.len(), index.is_truncated), (count, is_truncated), "{tail:?}");
    }
}
