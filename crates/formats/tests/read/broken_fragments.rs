//! Fragments that contradict themselves, or claim more than is available.

use kinora_formats::Scanner;
use kinora_index::{NotCopied, NotCopiedReason};
use kinora_isobmff::ReadFailureCode;

use crate::{
    fixture,
    fragment_layouts::{FRAME_TICKS, GOP, init},
    patch_boxes::{boxed, words},
    read,
};

/// A movie with these boxes in its only track fragment, and 1000 bytes after it.
fn movie(boxes: &[(&str, &[u32])]) -> Vec<u8> {
    [&init()[..], &fragment(boxes)].concat()
}

fn fragment(boxes: &[(&str, &[u32])]) -> Vec<u8> {
    let traf: Vec<u8> = boxes.iter().flat_map(|(kind, body)| boxed(kind, &words(body))).collect();
    [boxed("moof", &boxed("traf", &traf)), boxed("mdat", &[7; 1000])].concat()
}

/// Offsets count from the `moof`; each sample lasts one frame and takes 10 bytes.
const TFHD: (&str, &[u32]) = ("tfhd", &[0x2_0018, 1, FRAME_TICKS, 10]);
/// `count` samples, after the header of the `mdat`.
const fn trun(count: u32) -> [u32; 3] {
    [1, count, 200]
}

#[track_caller]
fn refused(bytes: &[u8], code: ReadFailureCode, sentence: &str) {
    let error = read(bytes).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), (code, sentence));
}

#[track_caller]
fn damaged(boxes: &[(&str, &[u32])], what: &str) {
    refused(&movie(boxes), ReadFailureCode::NotMedia, &format!("the file is damaged: {what}"));
}

#[track_caller]
fn unsupported(bytes: &[u8], sentence: &str) {
    refused(bytes, ReadFailureCode::CodecUnsupported, sentence);
}

#[test]
fn contradicting_fragments_are_damaged() {
    assert_eq!(read(&movie(&[TFHD, ("trun", &trun(45))])).unwrap().tracks[0].samples.len(), 45);

    let short = "the head of a fragment is shorter than it says";
    damaged(&[], short);
    damaged(&[("trun", &trun(45))], short);
    damaged(&[("tfhd", &[0x2_0018, 1, FRAME_TICKS]), ("trun", &trun(45))], short);
    damaged(&[("tfhd", &[1, 1, 0])], short);
    damaged(&[TFHD, ("tfdt", &[0x0100_0000, 0]), ("trun", &trun(45))], short);

    let rows = "a run of samples has fewer rows than it says";
    damaged(&[TFHD, ("trun", &[0x201, 2, 200, 10])], rows);
    damaged(&[TFHD, ("trun", &[0x201, u32::MAX, 200, 10])], rows);
    damaged(&[TFHD, ("trun", &[0xf01, u32::MAX, 200, 10, 10, 10, 10])], rows);
    damaged(&[TFHD, ("trun", &[1, 2])], rows);
    damaged(&[TFHD, ("trun", &[])], rows);

    let outside = "a fragment points outside the file";
    damaged(&[TFHD, ("trun", &[1, 45, i32::MIN as u32])], outside);
    damaged(&[("tfhd", &[0x19, 1, u32::MAX, u32::MAX, FRAME_TICKS, 10]), ("trun", &trun(45))], outside);
    damaged(&[("tfhd", &[0x19, 1, u32::MAX, u32::MAX - 300, FRAME_TICKS, 10]), ("trun", &trun(45))], outside);

    let inside = "the samples of a fragment lie inside its own header";
    damaged(&[TFHD, ("trun", &[0, 45])], inside);
    damaged(&[TFHD, ("trun", &[1, 45, 0])], inside);
    damaged(&[TFHD, ("trun", &[1, 45, -20i32 as u32])], inside);
}

#[test]
fn samples_after_end_of_file_are_truncated() {
    let file = |count, offset| movie(&[TFHD, ("trun", &[1, count, offset])]);
    let index = read(&file(4000, 200)).unwrap();
    assert!(index.is_truncated);
    assert!((80..100).contains(&index.tracks[0].samples.len()), "{}", index.tracks[0].samples.len());
    let nothing = "the file ends too early: less than a second of it can be played";
    refused(&file(45, 0x7fff_ffff), ReadFailureCode::Truncated, nothing);
    let beyond: (&str, &[u32]) = ("tfhd", &[0x19, 1, 0x7fff_ffff, 0, FRAME_TICKS, 10]);
    refused(&movie(&[beyond, ("trun", &trun(45))]), ReadFailureCode::Truncated, nothing);
}

#[test]
fn fragment_with_billions_of_samples_is_rejected_early() {
    let many = "a track has more than 5184000 samples; no more are supported";
    unsupported(&movie(&[TFHD, ("trun", &trun(u32::MAX))]), many);
    // Samples without bytes count too.
    let empty: (&str, &[u32]) = ("tfhd", &[0x2_0018, 1, FRAME_TICKS, 0]);
    unsupported(&movie(&[empty, ("trun", &trun(u32::MAX))]), many);
    let runs: Vec<(&str, &[u32])> =
        std::iter::once(empty).chain([("trun", &[0, 3_000_000][..]); 1000]).collect();
    unsupported(&movie(&runs), many);
    // Those of another track do not.
    let other: (&str, &[u32]) = ("tfhd", &[0x2_0018, 2, FRAME_TICKS, 0]);
    let stranger = fragment(&[other, ("trun", &trun(u32::MAX))]);
    let file = [movie(&[TFHD, ("trun", &trun(45))]), stranger].concat();
    assert_eq!(read(&file).unwrap().tracks[0].samples.len(), 45);
}

/// The beginning of a fragmented movie with video and `count` audio tracks, numbered from 2 on.
fn init_with_audio_tracks(count: u32) -> Vec<u8> {
    let bytes = fixture("fragmented.mp4");
    let offsets = |kind: &[u8; 4]| {
        let kinds = bytes.windows(4).enumerate().filter(|(_, window)| *window == kind);
        kinds.map(|(at, _)| at - 4).collect::<Vec<_>>()
    };
    let end = |at: usize| at + u32::from_be_bytes(*bytes[at..].first_chunk().unwrap()) as usize;
    let (moov, trak) = (offsets(b"moov")[0], offsets(b"trak")[1]);
    let number = offsets(b"tkhd")[1] - trak + 20;
    let further = (3..count + 2).flat_map(|id| {
        let mut track = bytes[trak..end(trak)].to_vec();
        track[number..number + 4].copy_from_slice(&id.to_be_bytes());
        track
    });
    let body: Vec<u8> = bytes[moov + 8..end(moov)].iter().copied().chain(further).collect();
    [&bytes[..moov], &boxed("moov", &body)[..]].concat()
}

#[test]
fn audio_tracks_share_one_sample_limit() {
    let run = |track| fragment(&[("tfhd", &[0x2_0018, track, 1024, 1]), ("trun", &trun(5_100_000))]);
    let movie = [init_with_audio_tracks(4), (2..6).flat_map(run).collect::<Vec<_>>()].concat();
    unsupported(&movie, "its audio tracks have more than 20250000 samples, which is not supported");
}

/// A fragment with `GOP` keyframes at this time.
fn at(time: u64) -> Vec<u8> {
    let time = [0x0100_0000, (time >> 32) as u32, time as u32];
    fragment(&[TFHD, ("tfdt", &time), ("trun", &trun(GOP))])
}

/// Fragments with `GOP` keyframes at each of these times: only the times of fragments matter.
fn at_times(times: &[u64]) -> Vec<u8> {
    [init(), times.iter().map(|time| at(*time)).collect::<Vec<_>>().concat()].concat()
}

const GOP_TICKS: u64 = (GOP * FRAME_TICKS) as u64;

#[test]
fn backward_or_huge_fragment_times_are_rejected() {
    let gop = GOP_TICKS;
    assert!(read(&at_times(&[0, gop, 2 * gop])).is_ok());
    assert!(read(&at_times(&[0, gop - 1024, 2 * gop])).is_ok(), "a frame early");
    assert!(read(&at_times(&[u64::MAX - 3 * gop, u64::MAX - 2 * gop, u64::MAX - gop])).is_ok());

    let early = |seconds: &str| {
        format!("a fragment of the video begins {seconds} s before the last sample of the one before it")
    };
    unsupported(&at_times(&[0, gop - 1025, 2 * gop]), &early("0.000"));
    unsupported(&at_times(&[0, gop, 1]), &early("1.933"));
    let far = "the times of its fragments lie too far apart";
    unsupported(&at_times(&[0, gop, u64::MAX]), far);
    unsupported(&at_times(&[0, gop, 0, u64::MAX]), far);
    let pause: (&str, &[u32]) = ("tfhd", &[0x1_0008, 1, 15_360_000]);
    assert!(read(&[init(), at(0), fragment(&[pause]), at(gop)].concat()).is_ok());
    let long = read(&[init(), at(0), fragment(&[pause]), fragment(&[TFHD, ("trun", &trun(GOP))])].concat());
    let reason = NotCopied::new(NotCopiedReason::LongGop, "1001 s without a keyframe, from second 0 on");
    assert_eq!(long.unwrap().tracks[0].media.not_copied(), Some(&reason));
}

#[test]
fn fragments_with_equal_decode_times_are_contiguous() {
    let gop = GOP_TICKS;
    let dts = |times: &[u64]| -> Vec<i64> {
        let samples = read(&at_times(times)).unwrap().tracks[0].samples.clone();
        let first = samples.get(0).unwrap().dts;
        samples.iter().map(|sample| sample.dts - first).collect()
    };
    let steady = |groups: u32| (0..groups * GOP).map(|n| i64::from(n * FRAME_TICKS)).collect::<Vec<_>>();
    assert_eq!(dts(&[0, gop, 2 * gop, 3 * gop]), steady(4));
    assert_eq!(dts(&[0, 0, 0, 0]), steady(4));
    assert_eq!(dts(&[7 << 40, 7 << 40, 7 << 40]), steady(3), "at the time of a live stream");
    assert_eq!(dts(&[0, 0, 2 * gop, 3 * gop]), steady(4), "the second alone");
    // Written by several consecutive recordings.
    assert_eq!(dts(&[0, gop, 0, gop, 2 * gop]), steady(5));
    assert_eq!(dts(&[9 * gop, 10 * gop, 4 * gop, 5 * gop, 4 * gop, 4 * gop, 4 * gop]), steady(7));
    assert_eq!(dts(&[1 << 60, gop, 0]), steady(3));
    // A gap of such a recording remains.
    let mut lost = steady(4);
    lost[45..].iter_mut().for_each(|at| *at += 3 * gop as i64);
    assert_eq!(dts(&[0, gop, 0, 4 * gop]), lost);
}

#[test]
fn sample_entry_change_in_fragment_is_rejected() {
    let other: (&str, &[u32]) = ("tfhd", &[0x2_001a, 1, 2, FRAME_TICKS, 10]);
    unsupported(
        &movie(&[other, ("trun", &trun(45))]),
        "the video changes its codec or format, which is not supported",
    );
}

#[test]
fn media_segment_without_moov_names_missing_init() {
    let nothing = "the file is the beginning of a stream: no samples follow its movie header (moov)";
    refused(&init(), ReadFailureCode::NotMedia, nothing);
    let stranger: (&str, &[u32]) = ("tfhd", &[0x2_0018, 2, FRAME_TICKS, 10]);
    refused(&movie(&[stranger, ("trun", &trun(45))]), ReadFailureCode::NotMedia, nothing);
    refused(&movie(&[TFHD]), ReadFailureCode::NotMedia, nothing);
    let cut = init().len() + 20;
    refused(
        &movie(&[TFHD, ("trun", &trun(45))])[..cut],
        ReadFailureCode::Truncated,
        "the file ends too early: its first fragment (moof) is cut off",
    );
    for first in ["styp", "moof"] {
        let segment = [boxed(first, b"msdh\0\0\0\0"), fragment(&[TFHD, ("trun", &trun(45))])].concat();
        refused(
            &segment,
            ReadFailureCode::NotMedia,
            "the file is a piece of a stream, without the movie header (moov) in front of its fragments",
        );
    }
}

#[test]
fn fragments_without_mvex_are_ignored() {
    let file = fixture("moov_at_end.mp4");
    let with = [&file[..], &fragment(&[TFHD, ("trun", &trun(45))])].concat();
    assert_eq!(read(&with).unwrap().tracks, read(&file).unwrap().tracks);
}

#[test]
fn oversized_moof_is_rejected_by_its_header() {
    let sentence = "the header of a fragment (moof) is longer than 160 MiB";
    for head in [&b"\x7f\xff\xff\xffmoof"[..], &[&b"\0\0\0\x01moof"[..], &u64::MAX.to_be_bytes()].concat()] {
        let mut scanner = Scanner::new(None);
        scanner.push(&[&init()[..], &boxed("free", &[0; 4096])].concat()).unwrap();
        assert_eq!(scanner.push(head).unwrap_err().to_string(), sentence);
    }
}
