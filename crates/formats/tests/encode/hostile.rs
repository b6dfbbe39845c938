//! The output of an encoder is untrusted.

use std::sync::OnceLock;

use kinora_formats::encode::{
    EncodedSegment, Feed, SegmentError, Segmenter, SegmenterError, ladder_without_copy,
};
use kinora_index::Rung;
use proptest::prelude::*;

use crate::{
    Clip,
    encoder::{collected, encoded},
};

/// A feed of three segments, its rungs, and an encoder's output for it.
struct Real {
    feed: Feed,
    rungs: Vec<Rung>,
    output: Vec<u8>,
}

fn real() -> &'static Real {
    static REAL: OnceLock<Real> = OnceLock::new();
    REAL.get_or_init(|| {
        let clip = Clip::made_by(
            "-f lavfi -i testsrc2=s=480x360:r=10:d=8 -c:v libx264 -preset ultrafast -bf 2 -pix_fmt yuv420p -g 20",
        );
        let feed = Feed::of_segments(&clip.index, 0..3).unwrap();
        let rungs = ladder_without_copy(&clip.index, 360);
        assert_eq!(rungs.len(), 2);
        let output = encoded(&feed, &clip.bytes, &rungs);
        Real { feed, rungs, output }
    })
}

fn collect(output: &[u8]) -> Result<Vec<EncodedSegment>, SegmenterError> {
    let Real { feed, rungs, .. } = real();
    collected(feed, rungs, output, 4096).map(|made| made.segments)
}

/// The top-level boxes of the output.
fn boxes() -> Vec<&'static [u8]> {
    let mut rest = real().output.as_slice();
    let mut boxes = Vec::new();
    while !rest.is_empty() {
        let size = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        let (one, after) = rest.split_at(size);
        boxes.push(one);
        rest = after;
    }
    boxes
}

#[test]
fn segmenter_output_ignores_chunk_boundaries() {
    let Real { feed, rungs, output } = real();
    let expected = collected(feed, rungs, output, output.len()).unwrap().segments;
    let numbers: Vec<_> = expected.iter().map(|made| (made.rung.lines(), made.number)).collect();
    assert_eq!(numbers, [(360, 0), (240, 0), (360, 1), (240, 1), (360, 2), (240, 2)]);
    assert!(expected.iter().all(|made| made.outcome.is_ok()));
    for piece in [1, 7, 1000] {
        assert_eq!(collected(feed, rungs, output, piece).unwrap().segments, expected, "pieces of {piece}");
    }
}

#[test]
fn truncated_encoder_output_is_rejected() {
    let Real { feed, rungs, output } = real();
    for end in (0..output.len()).step_by(997).chain([output.len() - 1]) {
        let mut collector = Segmenter::new(feed, rungs);
        let made = collector.push(&output[..end]).unwrap();
        assert!(made.len() < 6);
        match collector.finish() {
            Err(SegmenterError::Truncated) => {}
            // The end of a fragment looks like the end of the file: missing segments have no frames.
            Ok(rest) => {
                assert!(rest.iter().any(|made| made.outcome == Err(SegmentError::NoFrames)), "at {end}")
            }
            Err(error) => panic!("{error} at {end}"),
        }
    }
}

#[test]
fn missing_encoder_fragment_fails_one_segment() {
    let boxes = boxes();
    assert_eq!(boxes.len(), 2 + 3 * 2);
    let output = [&boxes[..4], &boxes[6..]].concat().concat();
    let made = collect(&output).unwrap();
    let lacking: Vec<_> = made.iter().filter(|made| made.outcome.is_err()).map(|made| made.number).collect();
    assert_eq!((made.len(), lacking), (6, vec![1, 1]));
}

#[test]
fn duplicate_or_unexpected_frames_are_rejected() {
    let boxes = boxes();
    let twice = [&boxes[..4], &boxes[2..]].concat().concat();
    assert!(matches!(collect(&twice), Err(SegmenterError::DuplicateFrame { .. })), "{:?}", collect(&twice));
    let back = [&boxes[..6], &boxes[2..]].concat().concat();
    assert!(matches!(collect(&back), Err(SegmenterError::NoKeyframeAtCut { .. })), "{:?}", collect(&back));
    // A repeated header.
    let headers = [&boxes[..2], &boxes[1..]].concat().concat();
    assert_eq!(collect(&headers), Err(SegmenterError::Malformed("a second moov")));
    assert_eq!(collect(&boxes[2..].concat()), Err(SegmenterError::Malformed("a moof before the moov")));
}

#[test]
fn encoder_output_of_other_settings_is_rejected() {
    let Real { feed, rungs, output } = real();
    let ordered = |rungs: &[Rung]| collected(feed, rungs, output, 4096).map(|made| made.segments.len());
    assert_eq!(ordered(&rungs[..1]), Err(SegmenterError::Tracks { found: 2, expected: 1 }));
    let turned = [rungs[1].clone(), rungs[0].clone()];
    assert!(matches!(ordered(&turned), Err(SegmenterError::Codec { .. })));
    let mut other = rungs.clone();
    other[1].codec = "avc1.640028".to_owned();
    let found = format!("{} of 320x240", rungs[1].codec);
    assert_eq!(ordered(&other), Err(SegmenterError::Codec { rung: rungs[1].name, found }));
}

#[test]
fn oversized_encoder_box_is_rejected_by_its_header() {
    let Real { feed, rungs, .. } = real();
    for (head, expected) in [
        (
            &b"\xff\xff\xff\xffmdat"[..],
            SegmenterError::TooLarge { what: "a box", bytes: u64::from(u32::MAX) },
        ),
        (
            b"\0\0\0\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff",
            SegmenterError::TooLarge { what: "a box", bytes: u64::MAX },
        ),
        (b"\x01\0\0\0moof", SegmenterError::TooLarge { what: "a box", bytes: 1 << 24 }),
        (b"\0\0\0\0mdat", SegmenterError::Malformed("a box without an end")),
        (b"\0\0\0\x07free", SegmenterError::Malformed("a box without an end")),
    ] {
        let mut collector = Segmenter::new(feed, rungs);
        assert_eq!(collector.push(head), Err(expected.clone()));
        assert_eq!(collector.push(b""), Err(expected.clone()), "it stays so");
        assert_eq!(collector.finish(), Err(expected));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_encoder_output_never_panics(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut output = real().output.clone();
        for (place, value) in &changes {
            // Half of them in the heads, which are only few of the bytes.
            let len = if value % 2 == 0 { output.len() } else { 4000 };
            output[place.index(len)] = *value;
        }
        let _ = collect(&output);
    }

    #[test]
    fn random_encoder_output_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let Real { feed, rungs, .. } = real();
        let mut collector = Segmenter::new(feed, rungs);
        let _ = collector.push(&bytes);
        let _ = collector.finish();
    }
}
