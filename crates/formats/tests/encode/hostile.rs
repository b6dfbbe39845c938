//! What an encoder writes is not believed.

use std::sync::OnceLock;

use kinora_formats::encode::{CollectError, Collector, Encoded, Feed, SegmentError, ladder_without_copy};
use kinora_index::Rung;
use proptest::prelude::*;

use crate::{
    Clip,
    encoder::{collected, encoded},
};

/// A feed of three segments, its rungs, and what an encoder made of it.
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
        let feed = Feed::begin(&clip.index, 0..3).unwrap();
        let rungs = ladder_without_copy(&clip.index, 360);
        assert_eq!(rungs.len(), 2);
        let output = encoded(&feed, &clip.bytes, &rungs);
        Real { feed, rungs, output }
    })
}

fn collect(output: &[u8]) -> Result<Vec<Encoded>, CollectError> {
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
fn segments_are_the_same_however_the_bytes_are_cut() {
    let Real { feed, rungs, output } = real();
    let whole = collected(feed, rungs, output, output.len()).unwrap().segments;
    let numbers: Vec<_> = whole.iter().map(|made| (made.rung.lines(), made.number)).collect();
    assert_eq!(numbers, [(360, 0), (240, 0), (360, 1), (240, 1), (360, 2), (240, 2)]);
    assert!(whole.iter().all(|made| made.outcome.is_ok()));
    for piece in [1, 7, 1000] {
        assert_eq!(collected(feed, rungs, output, piece).unwrap().segments, whole, "pieces of {piece}");
    }
}

#[test]
fn output_that_ends_early_is_no_segment() {
    let Real { feed, rungs, output } = real();
    for end in (0..output.len()).step_by(997).chain([output.len() - 1]) {
        let mut collector = Collector::new(feed, rungs);
        let made = collector.push(&output[..end]).unwrap();
        assert!(made.len() < 6);
        match collector.finish() {
            Err(CollectError::CutShort) => {}
            // The end of a fragment looks like the end of all: what did not come has no pictures.
            Ok(rest) => {
                assert!(rest.iter().any(|made| made.outcome == Err(SegmentError::NoPictures)), "at {end}")
            }
            Err(error) => panic!("{error} at {end}"),
        }
    }
}

#[test]
fn a_fragment_that_lacks_leaves_its_neighbours() {
    let boxes = boxes();
    assert_eq!(boxes.len(), 2 + 3 * 2);
    let output = [&boxes[..4], &boxes[6..]].concat().concat();
    let made = collect(&output).unwrap();
    let lacking: Vec<_> = made.iter().filter(|made| made.outcome.is_err()).map(|made| made.number).collect();
    assert_eq!((made.len(), lacking), (6, vec![1, 1]));
}

#[test]
fn pictures_that_come_again_or_elsewhere_are_refused() {
    let boxes = boxes();
    let twice = [&boxes[..4], &boxes[2..]].concat().concat();
    assert!(matches!(collect(&twice), Err(CollectError::Twice { .. })), "{:?}", collect(&twice));
    let back = [&boxes[..6], &boxes[2..]].concat().concat();
    assert!(matches!(collect(&back), Err(CollectError::NotCut { .. })), "{:?}", collect(&back));
    // A header twice.
    let headers = [&boxes[..2], &boxes[1..]].concat().concat();
    assert_eq!(collect(&headers), Err(CollectError::Malformed("a second moov")));
    assert_eq!(collect(&boxes[2..].concat()), Err(CollectError::Malformed("a moof before the moov")));
}

#[test]
fn output_of_another_order_is_refused() {
    let Real { feed, rungs, output } = real();
    let ordered = |rungs: &[Rung]| collected(feed, rungs, output, 4096).map(|made| made.segments.len());
    assert_eq!(ordered(&rungs[..1]), Err(CollectError::Tracks { found: 2, expected: 1 }));
    let turned = [rungs[1].clone(), rungs[0].clone()];
    assert!(matches!(ordered(&turned), Err(CollectError::Codec { .. })));
    let mut other = rungs.clone();
    other[1].codec = "avc1.640028".to_owned();
    let found = format!("{} of 320x240", rungs[1].codec);
    assert_eq!(ordered(&other), Err(CollectError::Codec { rung: rungs[1].name, found }));
}

#[test]
fn endless_boxes_are_refused_when_they_are_announced() {
    let Real { feed, rungs, .. } = real();
    for (head, expected) in [
        (&b"\xff\xff\xff\xffmdat"[..], CollectError::TooLarge { what: "a box", bytes: u64::from(u32::MAX) }),
        (
            b"\0\0\0\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff",
            CollectError::TooLarge { what: "a box", bytes: u64::MAX },
        ),
        (b"\x01\0\0\0moof", CollectError::TooLarge { what: "a box", bytes: 1 << 24 }),
        (b"\0\0\0\0mdat", CollectError::Malformed("a box without an end")),
        (b"\0\0\0\x07free", CollectError::Malformed("a box without an end")),
    ] {
        let mut collector = Collector::new(feed, rungs);
        assert_eq!(collector.push(head), Err(expected.clone()));
        assert_eq!(collector.push(b""), Err(expected.clone()), "it stays so");
        assert_eq!(collector.finish(), Err(expected));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_output_ends_in_an_answer(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut output = real().output.clone();
        for (place, value) in &changes {
            // Half of them in the heads, which are few bytes among many.
            let len = if value % 2 == 0 { output.len() } else { 4000 };
            output[place.index(len)] = *value;
        }
        let _ = collect(&output);
    }

    #[test]
    fn garbage_ends_in_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let Real { feed, rungs, .. } = real();
        let mut collector = Collector::new(feed, rungs);
        let _ = collector.push(&bytes);
        let _ = collector.finish();
    }
}
