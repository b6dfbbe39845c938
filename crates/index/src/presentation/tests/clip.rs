//! Clips: which frames and which audio they show, and when their video is copied.

use super::*;
use crate::plan::{presented_at, presented_frames};

/// Frames in decode order I P B B P B B …, one closed GOP of 25 frames per second.
fn reordered_video(seconds: i64) -> Track {
    let position = |n: i64| match n % 25 {
        0 => n,
        in_gop if in_gop % 3 == 1 => n + 2,
        _ => n - 1,
    };
    let sample = |n: i64| Sample {
        dts: n * 1000,
        pts: position(n) * 1000,
        duration: 1000,
        object: 0,
        offset: 100 * n.unsigned_abs(),
        size: 10,
        is_sync: n % 25 == 0,
    };
    Track { samples: (0..25 * seconds).map(sample).collect(), ..video(25_000, seconds, 1) }
}

/// Times that are shown, in ticks of the common timeline, in order.
fn shown(track: &Track) -> Vec<i64> {
    let times = track.samples.iter().map(|sample| presented_at(track, &sample));
    let mut times: Vec<_> = times.filter(|at| (0..track.end).contains(at)).collect();
    times.sort_unstable();
    times
}

fn clip(index: &Index, start_us: u64, end_us: u64) -> Index {
    index.clip(ONE, start_us..end_us).unwrap()
}

fn not_copied(index: &Index) -> Option<&str> {
    let (_, video) = index.video().unwrap();
    video.not_copied.as_ref().map(|why| why.detail.as_str())
}

#[test]
fn clip_shows_exactly_the_frames_of_its_range() {
    let index = index(vec![reordered_video(10), audio(10)]);
    let source = shown(index.video().unwrap().0);
    for start_us in [0, 1, 40_000, 40_001, 80_000, 1_000_000, 1_500_000, 3_999_999, 9_000_000] {
        for len_us in [40_000, 500_000, 1_000_000, 2_345_678, 20_000_000] {
            let end_us = (start_us + len_us).min(index.facts().duration_us);
            let in_range = |at: &&i64| {
                let us = **at as u64 * 1000;
                25 * start_us <= us && us < 25 * end_us
            };
            let expected: Vec<_> = source.iter().filter(in_range).copied().collect();
            let clip = clip(&index, start_us, start_us + len_us);
            let (track, _) = clip.video().unwrap();
            let zero = if start_us == 0 { 0 } else { expected[0] };
            let expected: Vec<_> = expected.iter().map(|at| at - zero).collect();
            assert_eq!(shown(track), expected, "{start_us} {len_us}");
            assert_eq!(clip.plan.encoded_video.last().unwrap().end, track.end, "{start_us} {len_us}");
        }
    }
}

#[test]
fn clip_from_closed_keyframe_is_copied() {
    let index = index(vec![video(12_800, 10, 1), audio(10)]);
    let clip = clip(&index, 3_000_000, 7_500_000);
    assert_eq!(not_copied(&clip), None);
    let (track, _) = clip.video().unwrap();
    let first = track.samples.get(0).unwrap();
    assert_eq!((first.offset, first.pts + track.shift), (7500, 0), "the bytes of the source");
    assert_eq!((track.samples.len(), track.end), (113, 57_600), "112.5 frames: half of the last one");
    assert_eq!(clip.objects, [SampleObject { source: Some(ONE), ..SampleObject::source(1 << 20) }]);
    assert_eq!(clip.parts, [Part { source: ONE, shown_us: 3_000_000..7_500_000 }]);
}

#[test]
fn clip_inside_a_gop_is_only_encoded() {
    let index = index(vec![video(12_800, 10, 1)]);
    let clip = clip(&index, 3_500_000, 7_000_000);
    assert_eq!(not_copied(&clip), Some("the clip does not begin with a closed keyframe"));
    assert_eq!(clip.plan.video, []);
    let (track, _) = clip.video().unwrap();
    assert_eq!(track.samples.get(0).unwrap().offset, 7500, "decoding starts at the keyframe before");
}

#[test]
fn clip_with_leading_frames_is_only_encoded() {
    let mut open = reordered_video(10);
    let samples = open
        .samples
        .iter()
        .enumerate()
        .map(|(n, sample)| Sample { is_sync: n == 0 || n % 25 == 1, ..sample });
    open.samples = samples.collect();
    let index = index(vec![open]);
    // The keyframe at 3.12 s is followed by two frames that are shown before it.
    let clip = clip(&index, 3_120_000, 5_000_000);
    assert_eq!(not_copied(&clip), Some("the clip does not begin with a closed keyframe"));
}

#[test]
fn clip_whose_end_needs_a_later_frame_is_only_encoded() {
    let index = index(vec![reordered_video(10)]);
    assert_eq!(not_copied(&clip(&index, 1_000_000, 3_000_000)), None);
    let inside = clip(&index, 1_000_000, 2_900_000);
    assert_eq!(not_copied(&inside), Some("frames at the end of the clip need later frames"));
}

#[test]
fn clip_audio_begins_with_its_first_frame() {
    let index = index(vec![video(12_800, 10, 1), audio(10)]);
    // The first frame at or after 3.01 s is shown at 3.04 s.
    let clip = clip(&index, 3_010_000, 6_000_000);
    let (source, _) = index.audio().unwrap();
    let (track, _) = clip.audio().unwrap();
    assert_eq!((track.shift, track.end), (source.shift - 145_920, 288_000 - 145_920));
    let first = track.samples.get(0).unwrap();
    assert!((-48_000..-46_976).contains(&(first.pts + track.shift)), "a second of lead: {first:?}");
    let copy = &clip.plan.audio[0];
    assert_eq!((copy[0].start, copy.last().unwrap().end), (0, track.end));
    let primed = track.samples.get(copy[0].samples.start).unwrap();
    assert!(primed.pts + track.shift <= -2 * 1024, "two packets for the decoder: {primed:?}");
}

#[test]
fn clip_of_audio_alone_is_exact_to_the_sample() {
    let index = index(vec![audio(10)]);
    let clip = clip(&index, 1_234_567, 2_000_000);
    let (track, _) = clip.audio().unwrap();
    assert_eq!(track.end, 96_000 - 59_259);
}

#[test]
fn audio_that_ends_before_the_clip_is_left_out() {
    let index = index(vec![video(12_800, 10, 1), audio(4)]);
    let clip = clip(&index, 5_000_000, 8_000_000);
    assert!(clip.audio().is_none());
    assert_eq!((clip.tracks.len(), clip.plan.audio.len()), (1, 0));
}

#[test]
fn range_outside_the_media_is_rejected_with_its_duration() {
    let index = index(vec![video(12_800, 10, 1), audio(10)]);
    let duration_us = index.facts().duration_us;
    for (start_us, end_us) in [(duration_us, u64::MAX), (11_000_000, 12_000_000), (5_000_000, 5_000_000)] {
        let expected = ClipError::Outside { start_us, end_us, duration_us };
        assert_eq!(index.clip(ONE, start_us..end_us), Err(expected));
    }
}

#[test]
fn clip_of_a_clip_refers_to_the_first_source() {
    let index = index(vec![video(12_800, 10, 1), audio(10)]);
    let outer = clip(&index, 2_000_000, 8_000_000);
    let inner = outer.clip(TWO, 1_000_000..3_000_000).unwrap();
    let direct = clip(&index, 3_000_000, 5_000_000);
    assert_eq!(inner.parts, direct.parts);
    assert_eq!(inner.objects, direct.objects);
    assert_eq!((&inner.tracks, &inner.plan), (&direct.tracks, &direct.plan));
}

#[test]
fn clipped_index_round_trips_through_bytes() {
    let index = index(vec![reordered_video(10), audio(10)]);
    for end_us in [3_000_000, 2_900_000] {
        let clip = clip(&index, 1_000_000, end_us);
        assert_eq!(Index::from_bytes(&clip.to_bytes()), Ok(clip.clone()));
        assert_ne!(clip.source_sha256, index.source_sha256);
    }
}

/// 23.976 frames per second: hardly any frame is at a whole microsecond.
fn film() -> Index {
    let sample = |n: i64| Sample {
        dts: n * 1001,
        pts: n * 1001,
        duration: 1001,
        object: 0,
        offset: 100 * n.unsigned_abs(),
        size: 10,
        is_sync: n % 48 == 0,
    };
    let samples = (0..480).map(sample).collect();
    index(vec![Track { samples, end: 480 * 1001, ..video(24_000, 20, 1) }, audio(20)])
}

#[test]
fn part_begins_with_the_first_frame() {
    let index = film();
    for (start_us, expected_us) in
        [(0, 0), (1, 41_708), (41_708, 41_708), (41_709, 83_416), (100_000, 125_125)]
    {
        let clip = clip(&index, start_us, 3_000_001);
        assert_eq!(clip.parts, [Part { source: ONE, shown_us: expected_us..3_000_001 }], "{start_us}");
        assert_eq!(self::clip(&index, expected_us, 3_000_001), clip, "the same range, the same clip");
    }
    assert_eq!(clip(&index, 7_000_000, u64::MAX).parts[0].shown_us, 7_007_000..20_020_000);
}

/// The times of the source that are shown, in ticks.
fn shown_source_times(clip: &Index) -> Vec<i64> {
    let (track, _) = clip.video().unwrap();
    shown(track).into_iter().map(|at| at - track.shift).collect()
}

#[test]
fn clip_of_a_clip_is_a_clip_of_the_source() {
    let index = film();
    let outer = clip(&index, 1_234_567, 9_876_543);
    let part = outer.parts[0].shown_us.clone();
    let all = shown_source_times(&outer);
    for (start_us, end_us) in [(0, 500_000), (1, 2_000_000), (333_333, 4_444_444), (4_000_000, 60_000_000)] {
        let inner = clip(&index, part.start + start_us, (part.start + end_us).min(part.end));
        let is_in_range = |pts: &&i64| {
            let us = (**pts - all[0]) as u64 * 1_000_000;
            start_us * 24_000 <= us && us < end_us * 24_000
        };
        let expected: Vec<_> = all.iter().filter(is_in_range).copied().collect();
        assert_eq!(shown_source_times(&inner), expected, "{start_us} {end_us}");
    }
}

/// Two ranges of one track by edit lists: frames 20..30 and from frame 60 on, each decoded from the keyframe
/// before.
fn two_ranges() -> Track {
    let source = video(25, 4, 1);
    let both = source.samples.range(0..30).chain(source.samples.range(50..100));
    // The second range begins 10 frames after the first one.
    let moved = |sample: Sample| match sample.pts {
        50.. => Sample { pts: sample.pts - 30, dts: sample.dts - 30, ..sample },
        _ => sample,
    };
    let samples = both.map(moved).collect();
    let edit_points = vec![EditPoint { sample: 30, pts: 30, configuration: 0 }];
    let mut track = Track { samples, edit_points, shift: -20, end: 50, ..source };
    if let TrackMedia::Video(video) = &mut track.media {
        video.not_copied = Some(NotCopied::new(NotCopiedReason::Edits, "edits between keyframes"));
    }
    track
}

/// The time of each shown frame, and its number in the source.
fn shown_frames(clip: &Index) -> Vec<(i64, u64)> {
    let (track, _) = clip.video().unwrap();
    let frames = presented_frames(track).filter(|frame| 0 <= frame.at);
    let mut shown: Vec<_> = frames
        .map(|frame| (frame.at, track.samples.get(frame.samples.end - 1).unwrap().offset / 100))
        .collect();
    shown.sort_unstable();
    shown
}

#[test]
fn clip_keeps_edits_inside_its_range() {
    let index = index(vec![two_ranges()]);
    let expected = |numbers: &mut dyn Iterator<Item = u64>| (0..).zip(numbers).collect::<Vec<_>>();
    for (end_us, mut numbers) in
        [(320_000, (25..28).chain(0..0)), (400_000, (25..30).chain(0..0)), (600_000, (25..30).chain(60..65))]
    {
        assert_eq!(shown_frames(&clip(&index, 200_000, end_us)), expected(&mut numbers), "{end_us}");
    }
    assert_eq!(shown_frames(&clip(&index, 520_000, 600_000)), expected(&mut (63..65)));
}

#[test]
fn frame_hidden_by_an_edit_after_the_clip_stays_hidden() {
    let whole = two_ranges();
    // Ten times as many ticks. Frame 29 is decoded before frame 28. The jump hides it, and the first frame
    // after the jump begins some ticks later.
    let finer = |(number, sample): (u32, Sample)| {
        let pts = 10
            * match number {
                28 => 29,
                29 => 28,
                _ => sample.pts,
            };
        let later = if 30 <= number { 4 } else { 0 };
        Sample { pts: pts + later, dts: 10 * sample.dts + later, ..sample }
    };
    let edit_points = vec![EditPoint { sample: 30, pts: 285, configuration: 0 }];
    let samples = (0..).zip(whole.samples.iter()).map(finer).collect();
    let index = index(vec![Track { timescale: 250, samples, edit_points, shift: -200, end: 500, ..whole }]);
    let times = |end_us| shown_frames(&clip(&index, 200_000, end_us)).into_iter().map(|(at, _)| at);
    assert_eq!(times(368_000).collect::<Vec<_>>(), [0, 10, 20, 30], "frames 25 to 28");
    assert_eq!(times(380_000).collect::<Vec<_>>(), [0, 10, 20, 30, 44], "and the first one after the jump");
}

#[test]
fn clip_keeps_only_objects_with_its_samples() {
    let intro = index(vec![video(12_800, 3, 1), audio(3)]);
    let film = index(vec![video(12_800, 10, 1), audio(10)]);
    let edited = join(&[(ONE, &intro), (TWO, &film)]).unwrap();
    let object = |source| SampleObject { source: Some(source), ..SampleObject::source(1 << 20) };
    for (range_us, expected) in [
        (0..2_000_000, vec![ONE]),
        (1_000_000..5_000_000, vec![ONE, TWO]),
        (3_000_000..5_000_000, vec![TWO]),
        (8_000_000..u64::MAX, vec![TWO]),
    ] {
        let clip = edited.clip(THREE, range_us.clone()).unwrap();
        assert_eq!(clip.objects, expected.iter().copied().map(object).collect::<Vec<_>>(), "{range_us:?}");
        for track in &clip.tracks {
            let sources = track.samples.iter().map(|sample| clip.objects[usize::from(sample.object)].source);
            let all: std::collections::BTreeSet<_> = sources.flatten().collect();
            assert_eq!(all.into_iter().collect::<Vec<_>>(), expected, "{range_us:?}");
        }
        assert_eq!(Index::from_bytes(&clip.to_bytes()), Ok(clip));
    }
}

#[test]
fn clip_of_replaced_audio_alone_keeps_that_object() {
    let object = SampleObject::audio(1 << 20, [6; 32]);
    let index = index(vec![audio(10)]).with_audio(index(vec![audio(10)]), object).unwrap();
    let clip = clip(&index, 2_000_000, 4_000_000);
    assert_eq!(clip.objects, [SampleObject { source: Some(ONE), ..object }]);
    assert!(clip.audio().unwrap().0.samples.iter().all(|sample| sample.object == 0));
    assert_eq!(Index::from_bytes(&clip.to_bytes()), Ok(clip));
}
