//! Segments of hand-made tracks, and properties over generated ones.

mod encoded;
mod external_audio;

use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::index::{AudioTrack, SampleEntry, SampleTableBuilder, VideoTrack};

/// A millisecond clock keeps the tables readable.
const TIMESCALE: u32 = 1000;

fn track(media: TrackMedia, samples: impl IntoIterator<Item = Sample>, timescale: u32) -> Track {
    let mut builder = SampleTableBuilder::default();
    let mut end = 0;
    for sample in samples {
        end = end.max(sample.pts + i64::from(sample.duration));
        builder.push(sample);
    }
    Track {
        source_track: 1,
        timescale,
        language: "und".to_owned(),
        label: crate::index::TrackLabel::default(),
        media,
        samples: builder.finish(),
        configurations: Vec::new(),
        edit_points: Vec::new(),
        shift: 0,
        end,
        bitrate_average: 0,
        bitrate_peak: 0,
    }
}

fn video_media() -> TrackMedia {
    TrackMedia::Video(VideoTrack {
        sample_entry: SampleEntry::Iso(Vec::new()),
        not_copied: None,
        codec: "avc1.64001f".to_owned(),
        is_interlaced: false,
        width: 640,
        height: 360,
        pixel_aspect: (1, 1),
        matrix: [0; 9],
        rotation: 0,
        transfer: None,
        frame_rate: None,
        composition_shift: 0,
    })
}

fn audio_media() -> TrackMedia {
    TrackMedia::Audio(AudioTrack {
        sample_entry: SampleEntry::Iso(Vec::new()),
        not_copied: None,
        codec: "mp4a.40.2".to_owned(),
        sample_rate: 48_000,
        channels: 2,
        packet_samples: 1024,
    })
}

fn sample(pts: i64, duration: u32, is_sync: bool) -> Sample {
    Sample { dts: pts, pts, duration, object: 0, offset: 0, size: 1, is_sync }
}

/// A video of 10 frames per second with keyframes at these milliseconds.
fn video(keys_ms: &[i64], end_ms: i64) -> Track {
    let frames = (0..end_ms / 100).map(|number| sample(number * 100, 100, keys_ms.contains(&(number * 100))));
    track(video_media(), frames, TIMESCALE)
}

/// Audio packets of 1024 samples at 48 kHz.
fn audio(packets: i64) -> Track {
    track(audio_media(), (0..packets).map(|number| sample(number * 1024, 1024, true)), 48_000)
}

fn starts(segments: &[Segment]) -> Vec<i64> {
    segments.iter().map(|segment| segment.start).collect()
}

fn check_cuts(keys_ms: &[i64], end_ms: i64, expected: &[i64]) {
    let plan = plan(&mut [video(keys_ms, end_ms)]).unwrap();
    assert_eq!(starts(&plan.video), expected, "keyframes {keys_ms:?}, end {end_ms}");
    assert_eq!(plan.video.last().unwrap().end, end_ms);
}

#[test]
fn first_two_segments_are_short_if_keyframes_permit() {
    let every_two: Vec<i64> = (0..10).map(|number| number * 2000).collect();
    check_cuts(&every_two, 20_000, &[0, 2000, 4000, 8000, 12_000, 16_000]);
    let every_half: Vec<i64> = (0..40).map(|number| number * 500).collect();
    // Half the median GOP too early is near enough; the differences accumulate.
    check_cuts(&every_half, 12_000, &[0, 2000, 4000, 8000]);
    let every_five = [0, 5000, 10_000];
    check_cuts(&every_five, 15_000, &[0, 5000, 10_000]);
}

#[test]
fn segment_is_cut_at_keyframe_near_target() {
    // Median GOP 3 s: the target of 4 s accepts keyframes from 2.5 s on.
    check_cuts(&[0, 3000, 6000, 9000, 12_000], 15_000, &[0, 3000, 6000, 9000, 12_000]);
}

#[test]
fn segments_are_below_eight_seconds_if_keyframes_permit() {
    // Without the cut at 9.0 s, which is too early, the segment would last until 16.1 s.
    check_cuts(&[0, 2000, 4000, 5500, 8000, 9000, 16_100], 17_600, &[0, 2000, 4000, 8000, 9000, 16_100]);
}

#[test]
fn long_gop_is_one_segment() {
    check_cuts(&[0, 10_400, 30_400], 32_000, &[0, 10_400, 30_400]);
}

#[test]
fn short_gops_between_long_gops_give_no_tiny_segments() {
    check_cuts(
        &[0, 9000, 9200, 18_400, 18_600, 27_800, 36_900],
        45_000,
        &[0, 9000, 9200, 18_400, 18_600, 27_800, 36_900],
    );
    check_cuts(&[0, 9000, 9200, 9400, 9600, 18_000, 27_000], 36_000, &[0, 9000, 9600, 18_000, 27_000]);
}

#[test]
fn short_tail_joins_the_previous_segment() {
    check_cuts(&[0, 2000, 4000, 8000], 8900, &[0, 2000, 4000]);
    check_cuts(&[0, 2000, 4000, 8000], 9000, &[0, 2000, 4000, 8000]);
    check_cuts(&[0], 300, &[0]);
}

#[test]
fn short_tail_stays_separate_when_joining_exceeds_maximum_length() {
    check_cuts(&[0, 9000], 9500, &[0, 9000]);
}

/// The reason why a single track is not copied. Its plan then has no copy.
fn not_copied(track: Track) -> (NotCopiedReason, String) {
    let mut tracks = [track];
    let plan = plan(&mut tracks).unwrap();
    assert!(plan.video.is_empty() && plan.audio.iter().all(Vec::is_empty), "{plan:?}");
    let NotCopied { reason, detail } = tracks[0].media.not_copied().cloned().unwrap();
    (reason, detail)
}

#[test]
fn gop_above_twenty_seconds_is_not_copied() {
    assert_eq!(plan(&mut [video(&[0, 20_000], 22_000)]).map(|plan| starts(&plan.video)), Ok(vec![0, 20_000]));
    assert_eq!(
        not_copied(video(&[0, 2000, 22_100], 24_000)),
        (NotCopiedReason::LongGop, "21 s without a keyframe, from second 2 on".into())
    );
    assert_eq!(not_copied(video(&[], 4000)), (NotCopiedReason::LongGop, "no keyframes".into()));
}

#[test]
fn samples_before_first_keyframe_are_dropped() {
    let plan = plan(&mut [video(&[500, 2500], 4000)]).unwrap();
    assert_eq!(
        plan.video,
        [
            Segment { samples: 5..25, start: 0, end: 2500 },
            Segment { samples: 25..40, start: 2500, end: 4000 }
        ]
    );
}

#[test]
fn edit_start_inside_a_gop_includes_its_keyframe() {
    let mut video = video(&[0, 2000, 4000, 6000], 8000);
    video.shift = -2500;
    video.end = 5500;
    let plan = plan(&mut [video]).unwrap();
    assert_eq!(
        plan.video,
        [
            Segment { samples: 20..40, start: 0, end: 1500 },
            Segment { samples: 40..60, start: 1500, end: 3500 },
            Segment { samples: 60..80, start: 3500, end: 5500 },
        ]
    );
}

#[test]
fn trailing_edit_drops_unreferenced_samples() {
    let mut video = video(&[0, 2000, 4000], 6000);
    video.end = 3050;
    let plan = plan(&mut [video]).unwrap();
    assert_eq!(
        plan.video,
        [
            Segment { samples: 0..20, start: 0, end: 2000 },
            Segment { samples: 20..31, start: 2000, end: 3050 }
        ]
    );
}

#[test]
fn open_gop_sync_sample_is_not_a_cut() {
    // I P B B of 500 ms each, the second I with leading pictures, the third without.
    let times = [(0, true), (1500, false), (500, false), (1000, false)];
    let open = [(3000, true), (2000, false), (2500, false), (3500, false)];
    let closed = [(4000, true), (5500, false), (4500, false), (5000, false)];
    let samples = times.into_iter().chain(open).chain(closed).map(|(pts, is_sync)| sample(pts, 500, is_sync));
    let plan = plan(&mut [track(video_media(), samples, TIMESCALE)]).unwrap();
    assert_eq!(
        plan.video,
        [Segment { samples: 0..8, start: 0, end: 4000 }, Segment { samples: 8..12, start: 4000, end: 6000 }]
    );
}

#[test]
fn empty_track_is_rejected() {
    assert_eq!(plan(&mut [video(&[], 0)]), Err(PlanError::Empty { track: "video" }));
    assert_eq!(plan(&mut [audio(0)]), Err(PlanError::Empty { track: "audio" }));
    let mut skipped = video(&[0], 4000);
    skipped.end = 0;
    assert_eq!(plan(&mut [skipped]), Err(PlanError::Empty { track: "video" }));
    let mut timeless = audio(10);
    timeless.timescale = 0;
    assert_eq!(plan(&mut [timeless]), Err(PlanError::NoTimescale { track: "audio" }));
    assert_eq!(plan(&mut []), Ok(SegmentPlan::default()));
}

#[test]
fn segment_over_sample_limit_is_rejected() {
    let samples = (0..70_000).map(|number| sample(number, 1, number == 0));
    assert_eq!(
        plan(&mut [track(video_media(), samples, 10_000)]),
        Err(PlanError::TooManySamples { track: "video", number: 0, samples: 70_000 })
    );
}

#[test]
fn audio_is_cut_at_first_packet_after_each_video_cut() {
    let plan = plan(&mut [video(&[0, 2000, 4000, 8000], 12_000), audio(563)]).unwrap();
    // 2 s are 93.75 packets, 4 s 187.5, 8 s exactly 375.
    assert_eq!(
        plan.audio[0],
        [
            Segment { samples: 0..94, start: 0, end: 94 * 1024 },
            Segment { samples: 94..188, start: 94 * 1024, end: 188 * 1024 },
            Segment { samples: 188..375, start: 188 * 1024, end: 375 * 1024 },
            Segment { samples: 375..563, start: 375 * 1024, end: 563 * 1024 },
        ]
    );
}

#[test]
fn audio_only_is_cut_at_two_then_every_four_seconds() {
    let plan = plan(&mut [audio(800)]).unwrap();
    let packets: Vec<_> = plan.audio[0].iter().map(|segment| segment.samples.clone()).collect();
    assert_eq!(packets, [0..94, 94..188, 188..375, 375..563, 563..750, 750..800]);
}

#[test]
fn audio_after_the_video_end_is_cut_every_four_seconds() {
    let plan = plan(&mut [video(&[0, 2000], 3000), audio(600)]).unwrap();
    let packets: Vec<_> = plan.audio[0].iter().map(|segment| segment.samples.clone()).collect();
    // Cuts at 2 s, at the video's end, then at 7 and 11 s.
    assert_eq!(packets, [0..94, 94..141, 141..329, 329..516, 516..600]);
}

#[test]
fn audio_starts_with_priming_and_decoder_preroll() {
    let mut primed = audio(200);
    (primed.shift, primed.end) = (-1024, 199 * 1024);
    assert_eq!(
        plan(&mut [primed.clone()]).unwrap().audio[0][0],
        Segment { samples: 0..95, start: 0, end: 94 * 1024 }
    );
    (primed.shift, primed.end) = (-50 * 1024 - 500, 100_000);
    assert_eq!(plan(&mut [primed]).unwrap().audio[0][0].samples.start, 48);
}

/// Audio that begins at 5 s, next to a video of 12 s with cuts at 2, 4 and 8 s.
fn plan_of_late_audio(channels: u32) -> Vec<Segment> {
    let mut late = audio(300);
    late.shift = 5 * 48_000;
    late.end += late.shift;
    let TrackMedia::Audio(audio_track) = &mut late.media else { unreachable!("made so") };
    audio_track.channels = channels;
    plan(&mut [video(&[0, 2000, 4000, 8000], 12_000), late]).unwrap().audio.remove(0)
}

#[test]
fn late_audio_has_silent_segments_until_it_begins() {
    assert_eq!(
        plan_of_late_audio(2),
        [
            Segment { samples: 0..0, start: 0, end: 96_000 },
            Segment { samples: 0..0, start: 96_000, end: 192_000 },
            Segment { samples: 0..141, start: 192_000, end: 240_000 + 141 * 1024 },
            Segment { samples: 141..300, start: 240_000 + 141 * 1024, end: 240_000 + 300 * 1024 },
        ]
    );
}

#[test]
fn late_audio_without_known_layout_extends_first_segment() {
    assert_eq!(starts(&plan_of_late_audio(7)), [0, 5 * 48_000 + 141 * 1024]);
}

#[test]
fn audio_that_begins_long_after_the_video_is_not_copied() {
    let mut late = audio(300);
    late.shift = 2000 * 48_000;
    late.end += late.shift;
    let mut tracks = [video(&[0, 2000], 4000), late];
    let plan = plan(&mut tracks).unwrap();
    assert_eq!((plan.video.len(), plan.audio), (2, vec![vec![]]));
    let reason = NotCopied::new(NotCopiedReason::Timing, "93562 packets in one segment");
    assert_eq!(tracks[1].media.not_copied(), Some(&reason));
    // Its encoded rendition is silent in every segment until it begins.
    assert_eq!(plan.encoded_audio[0][..4], [0, 94, 188, 375]);
    assert_eq!(plan.encoded_audio[0].last(), Some(&(2000 * 48_000_u64 + 300 * 1024).div_ceil(1024)));
}

#[test]
fn mostly_trimmed_audio_packets_are_dropped() {
    let packets = [(0, 1024), (1024, 1), (1025, 511), (1536, 512), (2048, 1024), (3072, 3)];
    let track = track(audio_media(), packets.map(|(pts, duration)| sample(pts, duration, true)), 48_000);
    let TrackMedia::Audio(audio) = &track.media else { unreachable!("made above") };
    let numbers: Vec<_> = copied_packets(&track, audio);
    assert_eq!(numbers, [0, 3, 4, 5]);
}

fn copied_packets(track: &Track, audio: &AudioTrack) -> Vec<u32> {
    packets(track, audio, 0..track.samples.len()).map(|(number, _)| number).collect()
}

/// The ranges follow one another from the first sample needed to the last, in samples and in time.
fn assert_covering(segments: &[Segment], end: i64) {
    assert_eq!(segments[0].start, 0);
    assert_eq!(segments.last().unwrap().end, end);
    for pair in segments.windows(2) {
        assert_eq!(pair[0].samples.end, pair[1].samples.start);
        assert_eq!(pair[0].end, pair[1].start);
    }
    for segment in segments {
        assert!(segment.start < segment.end, "{segment:?}");
    }
    // Only the first segments may be silent.
    assert!(segments.iter().map(|segment| segment.samples.is_empty()).is_sorted_by(|one, next| one >= next));
    assert!(!segments.last().unwrap().samples.is_empty());
}

/// A video of closed GOPs, each with its frames in random order, and the length that an edit skips.
fn any_video() -> impl Strategy<Value = Track> {
    let gop = prop::collection::vec(1..400_u32, 1..40).prop_shuffle();
    (prop::collection::vec(gop, 1..30), 0..4000_i64).prop_map(|(gops, skipped)| {
        let mut samples = Vec::new();
        let mut at = 0;
        for durations in gops {
            let mut frames: Vec<_> = Vec::new();
            for duration in durations {
                frames.push(sample(at, duration, frames.is_empty()));
                at += i64::from(duration);
            }
            // The keyframe stays first; the decode order of the others differs from their presentation
            // order.
            frames[1..].sort_by_key(|frame| (frame.pts / 700, -frame.pts));
            samples.extend(frames);
        }
        let mut track = track(video_media(), samples, TIMESCALE);
        track.shift = -skipped.min(track.end - 1);
        track.end += track.shift;
        track
    })
}

proptest! {
    #[test]
    fn video_cuts_cover_all_samples_and_start_at_sync_samples(video in any_video()) {
        let mut tracks = [video.clone()];
        let segments = plan(&mut tracks).unwrap().video;
        if let Some(not_copied) = tracks[0].media.not_copied() {
            prop_assert_eq!(not_copied.reason, NotCopiedReason::LongGop);
            prop_assert!(segments.is_empty());
            return Ok(());
        }
        assert_covering(&segments, video.end);
        prop_assert_eq!(segments.last().unwrap().samples.end, video.samples.len());
        for (number, segment) in segments.iter().enumerate() {
            let first = video.samples.get(segment.samples.start).unwrap();
            prop_assert!(first.is_sync);
            for sample in video.samples.range(segment.samples.clone()) {
                let at = presented_at(&video, &sample);
                prop_assert!(at < segment.end);
                prop_assert!(number == 0 || segment.start <= at);
            }
            let span = segment.end - segment.start;
            let has_key_inside = video.samples.range(segment.samples.start + 1..segment.samples.end).any(|s| s.is_sync);
            prop_assert!(span <= 8000 || !has_key_inside);
        }
    }

    #[test]
    fn audio_cuts_cover_all_packets(
        durations in prop::collection::vec(prop_oneof![8 => Just(1024_u32), 1 => 0..4000_u32], 1..800),
        shift in -5000..200_000_i64,
        video in any_video(),
    ) {
        let mut at = 0;
        let packets = durations.iter().map(|duration| {
            let packet = sample(at, *duration, true);
            at += i64::from(*duration);
            packet
        });
        let mut audio = track(audio_media(), packets, 48_000);
        audio.shift = shift;
        audio.end += shift;
        let Ok(plan) = plan(&mut [video, audio.clone()]) else { return Ok(()) };
        assert_covering(&plan.audio[0], audio.end);
        let cuts = &plan.encoded_audio[0];
        prop_assert_eq!(cuts[0], 0);
        prop_assert!(cuts.is_sorted_by(|one, next| one < next));
        prop_assert_eq!(cuts.last(), Some(&audio.end.unsigned_abs().div_ceil(1024)));
    }

    #[test]
    fn plan_never_panics(
        samples in prop::collection::vec((any::<i64>(), any::<u32>(), any::<bool>()), 0..50),
        shift: i64,
        end: i64,
        timescale: u32,
    ) {
        for media in [video_media(), audio_media()] {
            let samples = samples.iter().map(|(pts, duration, is_sync)| sample(pts / 2, *duration, *is_sync));
            let track = Track { shift, end, ..track(media, samples, timescale) };
            let _ = plan(&mut [track]);
        }
    }
}

#[test]
fn audio_gap_over_packet_duration_limit_is_not_copied() {
    let paused = |ticks: i64| {
        let packets = [0, 1024, 2048 + ticks].map(|at| sample(at, 1024, true));
        track(audio_media(), packets, 48_000)
    };
    let longest = i64::from(u32::MAX) - 1024;
    assert_eq!(plan(&mut [paused(longest)]).map(|plan| plan.audio[0].is_empty()), Ok(false));
    let reason = (NotCopiedReason::Timing, "the audio pauses too long".into());
    assert_eq!(not_copied(paused(longest + 1)), reason);
}

#[test]
fn segment_with_more_samples_than_ticks_is_rejected() {
    // Decoded as I P B B B: the frame presented at 1 ms is the last one.
    let frames = [0, 400, 300, 200, 1].map(|at| sample(at, 100, at == 0));
    let mut reordered = track(video_media(), frames, TIMESCALE);
    reordered.end = 5;
    assert!(plan(&mut [reordered.clone()]).is_ok());
    reordered.end = 4;
    assert_eq!(plan(&mut [reordered.clone()]), Err(PlanError::TooShort { number: 0, samples: 5, ticks: 4 }));
    // Hidden leading frames make the clock finer.
    reordered.shift = -1;
    assert!(plan(&mut [reordered]).is_ok());
}
