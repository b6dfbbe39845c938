//! Matroska files, real ones and written element by element.

use kinora_formats::{Scanned, Scanner};
use kinora_index::{Container, Index, NotCopiedReason, TrackMedia};
use kinora_isobmff::{ReadError, ReadFailureCode};
use proptest::prelude::*;

use crate::{accepted::check_golden, fixture, read};

const FILES: [&str; 13] = [
    "av1_opus.mkv",
    "h264_aac.mkv",
    "hevc_hdr10.mkv",
    "live.webm",
    "mp3.mka",
    "mpeg2_ac3.mkv",
    "ntsc.mkv",
    "opus.mka",
    "pcm.mkv",
    "several_audio.mkv",
    "variable_rate.mkv",
    "vp8_vorbis.webm",
    "vp9_opus.webm",
];

fn scan(bytes: &[u8]) -> Result<Scanned, ReadError> {
    let mut scanner = Scanner::new(None);
    scanner.push(bytes)?;
    scanner.finish()
}

/// An element with a size of eight bytes.
fn element(id: &[u8], body: &[u8]) -> Vec<u8> {
    [id, &(body.len() as u64 | 1 << 56).to_be_bytes(), body].concat()
}

/// A file of one track whose entry contains these children, and clusters at 0 of these children.
pub(crate) fn file(entry: &[Vec<u8>], cluster: &[Vec<u8>]) -> Vec<u8> {
    let tracks = element(b"\x16\x54\xae\x6b", &element(b"\xae", &entry.concat()));
    let cluster = element(b"\x1f\x43\xb6\x75", &[vec![0xe7, 0x81, 0], cluster.concat()].concat());
    let segment = element(b"\x18\x53\x80\x67", &[tracks, cluster].concat());
    [element(b"\x1a\x45\xdf\xa3", &element(b"\x42\x82", b"matroska")), segment].concat()
}

/// The children of an entry: number 1, kind, codec and `more`.
fn entry(kind: u8, codec: &[u8], more: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let own = [vec![0xd7, 0x81, 1], vec![0x83, 0x81, kind], element(b"\x86", codec)];
    own.into_iter().chain(more.iter().cloned()).collect()
}

pub(crate) fn video(codec: &[u8]) -> Vec<Vec<u8>> {
    entry(1, codec, &[element(b"\xe0", &[0xb0, 0x81, 64, 0xba, 0x81, 48])])
}

pub(crate) fn opus() -> Vec<Vec<u8>> {
    entry(2, b"A_OPUS", &[element(b"\x63\xa2", b"OpusHead\x01\x01\x38\x01\x80\xbb\0\0\0\0\0")])
}

/// A `SimpleBlock` of track 1.
pub(crate) fn block(time: i16, flags: u8, frame: &[u8]) -> Vec<u8> {
    element(b"\xa3", &[&[0x81][..], &time.to_be_bytes(), &[flags], frame].concat())
}

/// A `BlockGroup` with a block of track 1 and further elements.
pub(crate) fn group(time: i16, frame: &[u8], more: &[u8]) -> Vec<u8> {
    let block = element(b"\xa1", &[&[0x81][..], &time.to_be_bytes(), &[0], frame].concat());
    element(b"\xa0", &[&block[..], more].concat())
}

/// (presentation time, size, sync) of each sample of the only track.
fn samples(bytes: &[u8]) -> Vec<(i64, u32, bool)> {
    let index = read(bytes).unwrap();
    index.tracks[0].samples.iter().map(|sample| (sample.pts, sample.size, sample.is_sync)).collect()
}

#[test]
fn index_matches_golden() {
    for name in FILES {
        check_golden(name);
    }
}

#[test]
fn index_round_trips_through_bytes() {
    for name in FILES {
        let index = read(&fixture(name)).unwrap();
        assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index, "{name}");
    }
}

#[test]
fn matroska_unknown_sizes_give_the_same_index() {
    let frames = |name: &str| {
        let (bytes, index) = (fixture(name), read(&fixture(name)).unwrap());
        let frame = |sample: kinora_index::Sample| {
            let start = sample.offset as usize;
            (sample.pts, sample.dts, sample.is_sync, bytes[start..start + sample.size as usize].to_vec())
        };
        index
            .tracks
            .iter()
            .map(|track| track.samples.iter().map(frame).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    assert!(frames("live.webm") == frames("vp9_opus.webm"));
}

#[test]
fn bytes_after_the_segment_are_ignored() {
    let mut bytes = fixture("vp9_opus.webm");
    let complete = read(&bytes).unwrap();
    bytes.extend_from_slice(&[0; 500]);
    bytes.extend_from_slice(&fixture("live.webm"));
    let index = read(&bytes).unwrap();
    assert_eq!((index.tracks, index.plan, index.is_truncated), (complete.tracks, complete.plan, false));

    // A cluster of unknown size ends with its segment.
    let cluster =
        [&b"\x1f\x43\xb6\x75\xff\xe7\x81\0"[..], &block(0, 0x80, b"1"), &block(2000, 0, b"2")].concat();
    let tracks = element(b"\x16\x54\xae\x6b", &element(b"\xae", &video(b"V_VP9").concat()));
    let segment = element(b"\x18\x53\x80\x67", &[tracks, cluster].concat());
    let bytes = [element(b"\x1a\x45\xdf\xa3", &[]), segment, vec![0; 50]].concat();
    assert_eq!(samples(&bytes), [(0, 1, true), (180_000, 1, false)]);
}

#[test]
fn single_bytes_give_the_same_index() {
    for name in FILES {
        let bytes = fixture(name);
        let mut scanner = Scanner::new(None);
        bytes.chunks(1).for_each(|byte| scanner.push(byte).unwrap());
        assert_eq!(scanner.finish().unwrap(), Scanned::Index(read(&bytes).unwrap()), "{name}");
    }
}

#[test]
fn all_matroska_lacings_are_read() {
    let packet = |len: usize| [&[0xf8][..], &vec![7; len - 1]].concat();
    let two = [packet(3), packet(5)].concat();
    for (name, flags, lace) in [
        ("Xiph", 2, [&[1, 3][..], &two].concat()),
        ("EBML", 6, [&[1, 0x83][..], &two].concat()),
        ("fixed", 4, [&[1][..], &packet(4), &packet(4)].concat()),
    ] {
        let blocks = (0..60).map(|n| block(n * 40, 0x80 | flags, &lace)).collect::<Vec<_>>();
        let read = samples(&file(&opus(), &blocks));
        let sizes = if flags == 4 { [4, 4] } else { [3, 5] };
        let expected: Vec<_> = (0..120).map(|n| (n * 960, sizes[n as usize % 2], true)).collect();
        assert_eq!(read, expected, "{name}");
    }
}

/// Written times are rounded to milliseconds; those from the packets are not.
#[test]
fn packets_of_vorbis_follow_one_another_without_gaps() {
    let index = read(&fixture("vp8_vorbis.webm")).unwrap();
    let (track, _) = index.audio().unwrap();
    let packets: Vec<_> = track.samples.iter().collect();
    for pair in packets.windows(2) {
        assert_eq!(pair[0].pts + i64::from(pair[0].duration), pair[1].pts);
        assert!([128, 576, 1024].contains(&pair[0].duration), "blocks of 256 and 2048: {pair:?}");
    }
    let written: f64 = 3.0;
    assert!((track.end as f64 / f64::from(track.timescale) - written).abs() < 0.03, "{}", track.end);
}

#[test]
fn discard_padding_shortens_audio() {
    let packet = [0xf8u8, 7, 7];
    let ends = |padding: &[u8]| {
        let last = group(2000, &packet, padding);
        let blocks = (0..100).map(|n| block(n * 20, 0x80, &packet)).chain([last]).collect::<Vec<_>>();
        read(&file(&opus(), &blocks)).unwrap().tracks[0].end
    };
    let complete = ends(&[]);
    // 10 ms; none; at the front, which no writer does; more than available.
    assert_eq!(ends(&[0x75, 0xa2, 0x84, 0, 0x98, 0x96, 0x80]), complete - 480);
    for padding in
        [&[0x75, 0xa2, 0x80][..], &[0x75, 0xa2, 0x84, 0xff, 0, 0, 0], &[0x75, 0xa2, 0x84, 0x7f, 0, 0, 0]]
    {
        assert_eq!(ends(padding), complete, "{padding:x?}");
    }
}

#[test]
fn block_group_without_reference_is_a_keyframe() {
    let back = [0xfb, 0x81, 0xd8];
    let groups = [group(0, b"key", &[]), group(40, b"a", &back), group(95, b"key", &[0x9b, 0x82, 3, 0xe8])];
    let bytes = file(&video(b"V_VP9"), &groups);
    assert_eq!(samples(&bytes), [(0, 3, true), (3600, 1, false), (8550, 3, true)]);
    assert_eq!(read(&bytes).unwrap().tracks[0].end, 8550 + 90_000);
}

#[test]
fn hidden_vp8_frames_keep_their_order() {
    let (shown, hidden) = (&[0x10u8, 0, 0][..], &[0x01u8, 0, 0][..]);
    let blocks = [block(0, 0x80, shown), block(41, 0, hidden), block(40, 0, shown), block(80, 0, shown)];
    assert_eq!(
        samples(&file(&video(b"V_VP8"), &blocks)),
        [(0, 3, true), (1800, 3, false), (3600, 3, false), (7200, 3, false)]
    );
}

#[test]
fn av1_temporal_delimiters_are_removed() {
    let mut entry = video(b"V_AV1");
    entry.push(element(b"\x63\xa2", &[0x81, 0, 0x0c, 0]));
    let blocks = [block(0, 0x80, b"\x12\0frame"), block(40, 0, b"frame")];
    let index = read(&file(&entry, &blocks)).unwrap();
    assert_eq!(samples(&file(&entry, &blocks)), [(0, 5, true), (3600, 5, false)]);
    let first = index.tracks[0].samples.get(0).unwrap();
    assert_eq!(&file(&entry, &blocks)[first.offset as usize..][..5], b"frame");
}

#[test]
fn other_codecs_keep_their_track_entry() {
    let entry = video(b"V_THEORA");
    let index = read(&file(&entry, &[block(0, 0x80, b"1"), block(40, 0, b"2")])).unwrap();
    let TrackMedia::Video(track) = &index.tracks[0].media else { panic!("no video") };
    let reason = track.not_copied.as_ref().unwrap();
    assert_eq!((reason.reason, reason.detail.as_str()), (NotCopiedReason::Codec, "Theora"));
    assert_eq!((track.codec.as_str(), track.width, track.height), ("V_THEORA", 64, 48));
    let expected = kinora_index::SampleEntry::Matroska(element(b"\xae", &entry.concat()));
    assert_eq!(track.sample_entry, expected);
}

#[test]
fn compressed_or_broken_matroska_needs_remux() {
    let blocks = [block(0, 0x80, b"1")];
    let encoding = |body: &[u8]| element(b"\x6d\x80", &element(b"\x62\x40", body));
    let stripped = encoding(&element(b"\x50\x34", &[0x42, 0x54, 0x81, 3, 0x42, 0x55, 0x81, 0]));
    let with = |more: Vec<u8>| [video(b"V_VP9"), vec![more]].concat();
    let mut damaged = fixture("vp9_opus.webm");
    let at = damaged.len() / 2;
    damaged[at..at + 400].fill(0);
    let lace = block(0, 0x84, &[1, 2, 3]);
    for (name, bytes, container) in [
        ("header stripping", file(&with(stripped), &blocks), Container::Matroska),
        ("zlib", file(&with(encoding(&[])), &blocks), Container::Matroska),
        ("zeros in the middle", damaged, Container::WebM),
        ("frames in a lace", file(&video(b"V_VP9"), &[lace]), Container::Matroska),
        ("another container", b"FLV\x01\x05\0\0\0\x09".to_vec(), Container::Flv),
    ] {
        let Ok(Scanned::NeedsRemux { container: found, len, .. }) = scan(&bytes) else { panic!("{name}") };
        assert_eq!((found, len), (container, bytes.len() as u64), "{name}");
    }
}

#[test]
fn unplayable_matroska_is_rejected() {
    let check = |name: &str, bytes: &[u8], code: ReadFailureCode, sentence: &str| {
        let error = scan(bytes).unwrap_err();
        assert_eq!((error.code(), error.to_string()), (code, sentence.to_owned()), "{name}");
    };
    let encrypted = element(b"\x6d\x80", &element(b"\x62\x40", &[0x50, 0x33, 0x81, 1]));
    let encrypted = [video(b"V_VP9"), vec![encrypted]].concat();
    let (not_media, truncated) = (ReadFailureCode::NotMedia, ReadFailureCode::Truncated);
    check("encrypted", &file(&encrypted, &[]), ReadFailureCode::CodecUnsupported, "the video is encrypted");
    check(
        "subtitles",
        &file(&entry(17, b"S_TEXT/UTF8", &[]), &[]),
        not_media,
        "the file has no video or audio track",
    );
    check("no frames", &file(&opus(), &[]), not_media, "the file has no video or audio track");
    check(
        "no size",
        &file(&entry(1, b"V_VP9", &[]), &[]),
        not_media,
        "the file is damaged: a video track lacks its frame size",
    );
    let h264 = fixture("h264_aac.mkv");
    check("cut in front", &h264[..300], truncated, "the file ends too early: its list of tracks is missing");
    check(
        "cut early",
        &h264[..2000],
        truncated,
        "the file ends too early: less than a second of it can be played",
    );
}

#[test]
fn truncated_matroska_plays_its_prefix() {
    for name in ["h264_aac.mkv", "live.webm"] {
        let bytes = fixture(name);
        let complete = read(&bytes).unwrap();
        let index = read(&bytes[..bytes.len() * 2 / 3]).unwrap();
        assert!(index.is_truncated, "{name}");
        for (track, original) in index.tracks.iter().zip(&complete.tracks) {
            assert!(track.samples.len() < original.samples.len(), "{name}");
            let both = track.samples.iter().zip(original.samples.iter());
            assert!(
                both.clone()
                    .all(|(cut, whole)| (cut.pts, cut.offset, cut.size)
                        == (whole.pts, whole.offset, whole.size))
            );
        }
    }
}

#[test]
fn any_matroska_prefix_plays_or_is_rejected() {
    for name in ["h264_aac.mkv", "live.webm", "several_audio.mkv"] {
        let bytes = fixture(name);
        for len in (0..bytes.len()).step_by(37) {
            match scan(&bytes[..len]) {
                Ok(Scanned::Index(index)) => assert!(index.facts().duration_us >= 1_000_000, "{name} {len}"),
                Ok(Scanned::NeedsRemux { .. }) => panic!("{name} {len} is foreign"),
                Err(error) => assert_ne!(error.code(), ReadFailureCode::CodecUnsupported, "{name} {len}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn bytes_changed_anywhere_never_panic(
        file in 0..FILES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        front in any::<bool>(),
    ) {
        let mut bytes = fixture(FILES[file]);
        let len = if front { bytes.len().min(1500) } else { bytes.len() };
        for (at, value) in changes {
            bytes[at.index(len)] = value;
        }
        if let Ok(Scanned::Index(index)) = scan(&bytes) {
            let inside = |sample: kinora_index::Sample| sample.offset + u64::from(sample.size) <= index.source_len;
            prop_assert!(index.tracks.iter().all(|track| track.samples.iter().all(inside)));
        }
    }

    #[test]
    fn random_bytes_after_header_never_panic(tail in prop::collection::vec(any::<u8>(), 0..2000)) {
        let header = &fixture("vp9_opus.webm")[..700];
        let _ = scan(&[header, &tail].concat());
    }
}
