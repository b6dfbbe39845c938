//! Edit lists that cut between keyframes: the output contains exactly the presented frames, each at its
//! time.

use kinora_formats::{
    Scanner,
    encode::{Feed, FeedError, init_of_rung, ladder_without_copy},
};
use kinora_index::{Index, NotCopied, NotCopiedReason};

use crate::{
    boxes::fragment,
    encoder::{ffmpeg, made, shown_us},
    patch_boxes::{changed, words},
};

/// The clip: three GOPs of 15 frames, 15 per second, with B-frames. Ticks of a frame, and the decode
/// delay in ticks.
const FRAME_TICKS: i64 = 1024;
const DELAY: i64 = 2048;
const PIXELS: usize = 96 * 54;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The clip with an edit list that presents these frames, from and to, in presentation order.
fn edited(ranges: &[(i64, i64)]) -> Vec<u8> {
    let rows = ranges.iter().flat_map(|(from, to)| {
        let ms = (to - from) * 1000 / 15;
        [ms as u32, (DELAY + from * FRAME_TICKS) as u32, 0x0001_0000]
    });
    let list: Vec<u32> = [0, ranges.len() as u32].into_iter().chain(rows).collect();
    changed(&fixture("moov_at_end.mp4"), &["moov", "trak", "edts", "elst"], &|_| words(&list))
}

fn read(bytes: &[u8]) -> Index {
    let mut scanner = Scanner::new(None);
    scanner.push(bytes).unwrap();
    scanner.finish().unwrap().into_index().unwrap()
}

/// The frames of a file in grey scale.
fn frames(file: Vec<u8>) -> Vec<Vec<u8>> {
    let grey = ffmpeg("-f mp4 -i pipe:0 -map 0:v -fps_mode passthrough -pix_fmt gray -f rawvideo -", file);
    grey.chunks(PIXELS).map(<[u8]>::to_vec).collect()
}

/// Squared distance between an encoded frame and one of the clip.
fn distance(frame: &[u8], of_clip: &[u8]) -> u64 {
    frame.iter().zip(of_clip).map(|(one, other)| u64::from(one.abs_diff(*other)).pow(2)).sum()
}

/// Encodes the frames that the edit list presents, in runs of up to `runs_of` segments, and checks the
/// result.
fn check(name: &str, ranges: &[(i64, i64)], runs_of: usize) {
    let source = edited(ranges);
    let index = read(&source);
    let (track, video) = index.video().unwrap();
    let edits = NotCopied::new(NotCopiedReason::Edits, "edits between keyframes");
    assert_eq!((&video.not_copied, index.plan.video.as_slice()), (&Some(edits), &[][..]), "{name}");
    assert_eq!(video.frame_rate, Some((15, 1)), "{name}");
    assert_eq!(Index::from_bytes(&index.to_bytes()).as_ref(), Ok(&index), "{name}");

    let rungs = ladder_without_copy(&index, 240);
    assert_eq!((rungs.len(), rungs[0].width, rungs[0].height), (1, 96, 54), "{name}");
    let count = index.plan.encoded_video.len() as u32;
    let (mut file, mut end) = (Vec::new(), 0);
    for run in index.encoded_runs(0..count) {
        for start in run.clone().step_by(runs_of) {
            let numbers = start..run.end.min(start + runs_of as u32);
            let made = made(&index, &source, &rungs, numbers.clone());
            if file.is_empty() {
                file = init_of_rung(&index, &rungs[0], &made.avcc[0]).unwrap();
            }
            assert_eq!(made.segments.len(), numbers.len(), "{name}");
            for segment in made.segments {
                let bytes = segment.outcome.unwrap();
                let times = fragment(&bytes);
                assert_eq!(times.decode_time, end, "{name}: segment {}", segment.number);
                end += times.duration();
                file.extend(bytes);
            }
        }
    }
    assert_eq!(end as i64, track.end, "{name}");

    let expected_frames: Vec<i64> = ranges.iter().flat_map(|(from, to)| *from..*to).collect();
    let clip = frames(fixture("faststart.mp4"));
    assert_eq!(clip.len(), 45);
    let found = frames(file.clone());
    assert_eq!(found.len(), expected_frames.len(), "{name}");
    for (frame, expected_frame) in found.iter().zip(&expected_frames) {
        // Neighbouring frames differ little in a clip of so few bytes.
        let closest = clip.iter().map(|of_clip| distance(frame, of_clip)).min().unwrap();
        let own = distance(frame, &clip[*expected_frame as usize]);
        assert!(
            own * 4 <= closest * 5,
            "{name}: frame {expected_frame} differs by {own}, another one by {closest}"
        );
    }
    let times: Vec<i64> = (0..expected_frames.len() as i64).map(|n| n * 1_000_000 / 15).collect();
    for (found, expected) in shown_us(file).iter().zip(&times) {
        assert!((found - expected).abs() <= 1000, "{name}: {found} us, not {expected}");
    }
}

#[test]
fn edits_inside_gops_encode_exactly_their_frames() {
    check("one edit inside a group", &[(6, 45)], 9);
    check("one edit that ends inside a group", &[(6, 30)], 9);
    check("one that ends between B-frames", &[(9, 26)], 1);
    check("one from the beginning that ends between B-frames", &[(0, 26)], 9);
    check("two, the last one first", &[(21, 36), (3, 15)], 9);
    check("a part gone that no keyframe ends", &[(0, 15), (21, 45)], 9);
    check("short ones of one group, again and again", &[(3, 9), (3, 9), (6, 12), (0, 3)], 9);
    check("a run for each segment", &[(6, 45), (6, 45)], 1);
}

#[test]
fn encode_run_never_crosses_an_edit_point() {
    let source = edited(&[(21, 36), (3, 15), (18, 45)]);
    let index = read(&source);
    let starts: Vec<i64> = index.plan.encoded_video.iter().map(|segment| segment.start).collect();
    assert_eq!(starts, [0, 15, 27].map(|frames| frames * FRAME_TICKS));
    assert_eq!(index.encoded_runs(0..3), [0..1, 1..2, 2..3]);
    assert_eq!(index.encoded_runs(1..2).len(), 1);
    assert_eq!(index.encoded_runs(2..2), []);
    let error = Feed::of_segments(&index, 0..2).unwrap_err();
    assert_eq!(error, FeedError::AcrossEditPoint { numbers: 0..2 });

    let fed: Vec<_> =
        (0..3).map(|number| Feed::of_segments(&index, number..number + 1).unwrap().samples()).collect();
    let (track, _) = index.video().unwrap();
    assert!(fed.iter().all(|samples| track.samples.get(samples.start).unwrap().is_sync), "{fed:?}");
    assert!(fed.windows(2).all(|pair| pair[0].end == pair[1].start), "{fed:?}");
}

#[test]
fn truncated_edited_source_ends_at_its_last_frame() {
    // The part that is presented first is last in the file.
    let complete = changed(&edited(&[(33, 45), (3, 24)]), &["moov"], &<[u8]>::to_vec);
    let at = complete.windows(4).position(|window| window == b"mdat").unwrap() - 4;
    let moov = complete.windows(4).position(|window| window == b"moov").unwrap() - 4;
    // The moov moves to the front: all offsets grow by its length.
    let grown = (complete.len() - moov) as u32;
    let mut front = complete[..at].to_vec();
    let mut moved = complete[moov..].to_vec();
    let mut from = 0;
    while let Some(stco) = moved[from..].windows(4).position(|window| window == b"stco") {
        let count_at = from + stco + 8;
        let word = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        for n in 0..word(&moved, count_at) as usize {
            let at = count_at + 4 + 4 * n;
            let offset = word(&moved, at) + grown;
            moved[at..at + 4].copy_from_slice(&offset.to_be_bytes());
        }
        from = count_at;
    }
    front.extend(&moved);
    front.extend(&complete[at..moov]);
    let expected = read(&complete);
    assert_eq!(read(&front).plan, expected.plan);
    for cut in (front.len() - 4000..front.len()).step_by(97) {
        let mut scanner = Scanner::new(None);
        scanner.push(&front[..cut]).unwrap();
        let Ok(scanned) = scanner.finish() else { continue };
        let index = scanned.into_index().unwrap();
        let (track, _) = index.video().unwrap();
        assert!(index.is_truncated && track.end <= expected.tracks[0].end);
        for segment in &index.plan.encoded_video {
            assert!(segment.end <= track.end && !segment.samples.is_empty());
        }
        assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
    }
}
