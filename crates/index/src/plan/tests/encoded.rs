//! Segments of encoded renditions: of hand-made tracks, and properties over generated ones.

use super::*;
use crate::index::EditPoint;

/// Marks a track as not copied.
fn not_copied(mut track: Track) -> Track {
    let reason = Some(NotCopied::new(NotCopiedReason::Codec, "VP9"));
    match &mut track.media {
        TrackMedia::Video(video) => video.not_copied = reason,
        TrackMedia::Audio(audio) => audio.not_copied = reason,
    }
    track
}

/// The encoded segments of a track that is not copied.
fn encoded(track: Track) -> Vec<Segment> {
    let plan = plan(&mut [not_copied(track)]).unwrap();
    assert_eq!(plan.video, []);
    plan.encoded_video
}

fn check(name: &str, track: Track, expected: &[(i64, Range<u32>)]) {
    let end = track.end;
    let segments = encoded(track);
    let found: Vec<_> = segments.iter().map(|segment| (segment.start, segment.samples.clone())).collect();
    assert_eq!(found, expected, "{name}");
    assert_eq!(segments.last().map(|segment| segment.end), Some(end), "{name}");
}

/// A video whose frames begin at these milliseconds; all of them are keyframes, or only the first.
fn slides(starts_ms: &[i64], end_ms: i64, are_keys: bool) -> Track {
    let ends = starts_ms.iter().skip(1).chain([&end_ms]);
    let frames = starts_ms.iter().zip(ends).enumerate();
    let samples = frames.map(|(number, (&start, &end))| {
        sample(start, u32::try_from(end - start).unwrap(), are_keys || number == 0)
    });
    track(video_media(), samples, TIMESCALE)
}

#[test]
fn encoded_and_copied_segments_align() {
    for keys in [&[0, 2000, 4000, 8000, 12_000][..], &[0, 9000, 18_900], &[0, 2000, 12_400], &[0]] {
        let plan = plan(&mut [video(keys, 20_000)]).unwrap();
        assert_eq!(plan.encoded_video, plan.video, "{keys:?}");
    }
}

#[test]
fn encoded_segment_prefers_keyframe_near_target() {
    check(
        "a keyframe each 2 s",
        video(&[0, 2000, 4000, 6000, 8000], 10_000),
        &[(0, 0..20), (2000, 20..40), (4000, 40..80), (8000, 80..100)],
    );
    check(
        "a keyframe each 5 s",
        video(&[0, 5000, 10_000], 12_000),
        &[(0, 0..20), (2000, 0..50), (5000, 50..100), (10_000, 100..120)],
    );
    check(
        "one keyframe",
        video(&[0], 14_050),
        &[(0, 0..20), (2000, 0..40), (4000, 0..80), (8000, 0..120), (12_000, 0..140)],
    );
    let every: Vec<i64> = (0..140).map(|number| number * 100).collect();
    check(
        "every frame a keyframe",
        video(&every, 14_000),
        &[(0, 0..20), (2000, 20..40), (4000, 40..80), (8000, 80..120), (12_000, 120..140)],
    );
    check("a short tail", video(&[0], 4900), &[(0, 0..20), (2000, 0..49)]);
    check("the shortest", video(&[0], 100), &[(0, 0..1)]);
}

#[test]
fn segments_end_where_an_edit_list_jumps() {
    // 2.6 s without the last frame, then 5 s without the first second.
    let frames = |from: i64, count: i64| (0..count).map(move |n| sample(from + n * 100, 100, n == 0));
    let mut jumping = track(video_media(), frames(0, 26).chain(frames(1500, 50)), TIMESCALE);
    jumping.edit_points = vec![EditPoint { sample: 26, pts: 2500, configuration: 0 }];
    check("a short tail in front", jumping.clone(), &[(0, 0..25), (2500, 26..56), (4500, 26..76)]);
    // If no frame of the second part is presented, it has no segment.
    jumping.end = 2500;
    check("ends at the jump", jumping, &[(0, 0..25)]);
}

#[test]
fn encoded_segment_is_not_shorter_than_one_frame() {
    check(
        "slides",
        slides(&[0, 30_000, 60_000], 90_000, false),
        &[(0, 0..1), (30_000, 0..2), (60_000, 0..3)],
    );
    check(
        "slides of keyframes",
        slides(&[0, 30_000, 60_000], 90_000, true),
        &[(0, 0..1), (30_000, 1..2), (60_000, 2..3)],
    );
    check(
        "a change right after the start",
        slides(&[0, 100, 30_000], 60_000, false),
        &[(0, 0..2), (30_000, 0..3)],
    );
    check("one frame for a day", slides(&[0], 86_400_000, false), &[(0, 0..1)]);
    let mut late = video(&[0], 4000);
    (late.shift, late.end) = (3500, 7500);
    check("frames that begin late", late, &[(0, 0..1), (3600, 0..21), (5600, 0..40)]);
}

#[test]
fn frame_shown_at_0_may_start_earlier() {
    let mut cut = slides(&[0, 1500, 3000, 4500], 6000, true);
    (cut.shift, cut.end) = (-2000, 4000);
    check("inside the second", cut, &[(0, 1..3), (2500, 3..4)]);
    let mut cut = video(&[0, 2000], 6000);
    (cut.shift, cut.end) = (-1000, 5000);
    check("at a frame", cut, &[(0, 0..20), (1000, 20..40), (3000, 20..60)]);
}

#[test]
fn leading_samples_are_decoded_from_previous_keyframe() {
    // I P B B of 1 s each, three times; each later I is presented after two of its B.
    let gops = (0..3_i64).flat_map(|gop| {
        let at = gop * 4000;
        [(at + 2000, true), (at + 3000, false), (at, false), (at + 1000, false)]
    });
    let samples: Vec<_> = gops.map(|(pts, is_sync)| sample(pts, 1000, is_sync)).collect();
    let mut open = track(video_media(), samples.clone(), TIMESCALE);
    // Leading pictures of the first keyframe cannot be decoded.
    (open.shift, open.end) = (-2000, 10_000);
    check("open GOPs", open.clone(), &[(0, 0..8), (4000, 4..12), (8000, 8..10)]);

    // The same for a codec whose decoders skip leading pictures: copied, and the encoded segments include
    // all of them.
    let TrackMedia::Video(video) = &mut open.media else { unreachable!("made so") };
    video.codec = "hvc1.1.6.L93.B0".to_owned();
    let plan = plan(&mut [open]).unwrap();
    let of = |segments: &[Segment]| {
        segments.iter().map(|segment| (segment.start, segment.samples.clone())).collect::<Vec<_>>()
    };
    assert_eq!(of(&plan.video), [(0, 0..4), (2000, 4..8), (6000, 8..12)]);
    assert_eq!(of(&plan.encoded_video), [(0, 0..2), (2000, 0..8), (6000, 4..12)]);
}

#[test]
fn samples_without_keyframe_are_dropped_unless_none_exists() {
    check("a late keyframe", video(&[500], 3000), &[(0, 5..20), (2000, 5..30)]);
    check("no keyframe", video(&[], 3000), &[(0, 0..20), (2000, 0..30)]);
}

#[test]
fn segment_over_feed_limit_is_rejected() {
    // A keyframe after 9, then after 11 minutes, at 60 frames per second.
    let frames = |minutes: i64| {
        let last = minutes * 3600;
        (0..last + 60).map(move |number| sample(number * 10, 10, number == 0 || number == last))
    };
    let long = |minutes| not_copied(track(video_media(), frames(minutes), 600));
    assert!(plan(&mut [long(10)]).is_ok());
    let Err(PlanError::FeedTooLong { at_seconds: 596..=600, samples: 36_001.., bytes: 36_001.. }) =
        plan(&mut [long(11)])
    else {
        panic!("refused")
    };
    let heavy = |size| {
        let large = (0..40).map(move |number| Sample { size, ..sample(number * 100, 100, true) });
        plan(&mut [not_copied(track(video_media(), large, TIMESCALE))])
    };
    assert!(heavy(u32::MAX / 20).is_ok());
    assert_eq!(
        heavy(u32::MAX / 10),
        Err(PlanError::FeedTooLong { at_seconds: 0, samples: 20, bytes: u64::from(u32::MAX / 10) * 20 })
    );
}

#[test]
fn encoded_audio_is_cut_at_first_frame_after_video_cut() {
    let cuts = |tracks: &mut [Track]| plan(tracks).map(|plan| plan.encoded_audio);
    // Alone: 2, 4, 8, 12 and 16 s, and a tail of less than a second.
    assert_eq!(cuts(&mut [audio(800)]), Ok(vec![vec![0, 94, 188, 375, 563, 750, 800]]));
    assert_eq!(cuts(&mut [audio(796)]), Ok(vec![vec![0, 94, 188, 375, 563, 796]]));
    // Another sample rate in other ticks: 10.01 s end in frame 470.
    let packets = (0..1001).map(|number| sample(number * 10, 10, true));
    let other = not_copied(track(audio_media(), packets, TIMESCALE));
    assert_eq!(cuts(&mut [other.clone()]), Ok(vec![vec![0, 94, 188, 375, 470]]));
    let beside = [video(&[0, 3000], 6000), audio(10), other];
    assert_eq!(cuts(&mut beside.clone()), Ok(vec![vec![0, 10], vec![0, 141, 282, 470]]));
}

#[test]
fn audio_with_sparse_video_has_its_own_cuts() {
    // A frame every half hour, and half an hour of audio in packets of a second.
    let half_hour = 1800 * 1000;
    let frames = [0, half_hour].map(|at| sample(at, 1_800_000, true));
    let stills = track(video_media(), frames, TIMESCALE);
    let packets = (0..3600).map(|n| sample(n * 1000, 1000, true));
    let audio_track = track(audio_media(), packets, TIMESCALE);
    let encoded = plan(&mut [stills.clone(), not_copied(audio_track.clone())]).unwrap();
    assert_eq!(encoded.encoded_video.len(), 2);
    let seconds = |frame: &u64| *frame as f64 * 1024.0 / 48_000.0;
    let cuts: Vec<f64> = encoded.encoded_audio[0].iter().map(seconds).collect();
    let lengths: Vec<f64> = cuts.windows(2).map(|ends| ends[1] - ends[0]).collect();
    assert!(cuts[1] < 2.1 && lengths.iter().all(|length| *length < 5.1), "{lengths:?}");
    assert!(cuts.contains(&seconds(&84_375)), "where the second frame begins");
    // The same if the audio is copied.
    let copied = plan(&mut [stills, audio_track]).unwrap();
    let starts: Vec<i64> = copied.audio[0].iter().map(|segment| segment.start / 1000).collect();
    assert_eq!(starts[..5], [0, 2, 4, 8, 12]);
    assert!(copied.audio[0].iter().all(|segment| segment.duration() <= 5000), "{starts:?}");
    // Any declared duration leads to a finite plan.
    let endless = track(video_media(), [sample(0, u32::MAX, true)], 1);
    let beside = plan(&mut [endless, audio(300)]).unwrap();
    assert_eq!(beside.encoded_audio, [vec![0, 94, 188, 300]]);
}

#[test]
fn audio_of_many_days_is_not_encoded() {
    let days = |days: i64| {
        let packets = [0, days * 86_400_000].map(|at| sample(at, 1000, true));
        track(audio_media(), packets, TIMESCALE)
    };
    assert_eq!(plan(&mut [days(4)]).map(|plan| plan.encoded_audio), Ok(vec![vec![]]));
    assert!(plan(&mut [not_copied(days(3))]).is_ok());
    assert_eq!(plan(&mut [not_copied(days(4))]), Err(PlanError::TooLong { seconds: 4 * 86_400 + 1 }));
    // Next to a playable track it is removed.
    let mut tracks = vec![not_copied(days(4)), audio(100)];
    assert_eq!(plan_playable(&mut tracks).map(|plan| plan.encoded_audio), Ok(vec![vec![0, 100]]));
    assert_eq!(tracks, [audio(100)]);
}

/// GOPs of some length, the later ones with leading pictures before their keyframe, and the length that an
/// edit skips.
fn any_open_video() -> impl Strategy<Value = Track> {
    let gop = (prop::collection::vec(1..900_u32, 1..60), 0..3_usize);
    (prop::collection::vec(gop, 1..12), 0..9000_i64, any::<bool>()).prop_map(|(gops, skipped, is_copied)| {
        let mut samples = Vec::new();
        let mut at = 0;
        for (durations, leading) in gops {
            let mut frames = Vec::new();
            for duration in durations {
                frames.push(sample(at, duration, false));
                at += i64::from(duration);
            }
            let key = leading.min(frames.len() - 1);
            frames[key].is_sync = true;
            let key = frames.remove(key);
            frames.sort_by_key(|frame| (frame.pts / 700, -frame.pts));
            samples.push(key);
            samples.extend(frames);
        }
        let mut track = track(video_media(), samples, TIMESCALE);
        track.shift = -skipped.min(track.end - 1);
        track.end += track.shift;
        if is_copied { track } else { not_copied(track) }
    })
}

proptest! {
    #[test]
    fn each_frame_is_encoded_once_from_a_sufficient_keyframe(video in any_open_video()) {
        let samples: Vec<_> = video.samples.iter().collect();
        let at = |number: usize| presented_at(&video, &samples[number]);
        let keys: Vec<usize> = (0..samples.len()).filter(|number| samples[*number].is_sync).collect();
        let first_key_at = at(keys[0]);
        // Leading pictures of the first keyframe are lost; an edit may leave only those.
        let Ok(plan) = plan(&mut [video.clone()]) else {
            prop_assert!(video.end <= first_key_at);
            return Ok(());
        };
        let segments = plan.encoded_video;
        prop_assert_eq!(segments[0].start, 0);
        prop_assert_eq!(segments.last().unwrap().end, video.end);
        prop_assert!(segments.windows(2).all(|pair| pair[0].end == pair[1].start));
        prop_assert!(segments.iter().all(|segment| segment.start < segment.end));

        let made: Vec<usize> = (0..samples.len()).filter(|n| keys[0] <= *n && first_key_at <= at(*n) && at(*n) < video.end).collect();
        let shown_at_0 = made.iter().copied().filter(|n| at(*n) <= 0).max_by_key(|n| at(*n));
        for segment in &segments {
            let wanted: Vec<usize> = made
                .iter()
                .copied()
                .filter(|n| segment.start <= at(*n) && at(*n) < segment.end || segment.start == 0 && Some(*n) == shown_at_0)
                .collect();
            prop_assert!(!wanted.is_empty(), "{segment:?} shows nothing");
            let fed = segment.samples.start as usize..segment.samples.end as usize;
            prop_assert!(samples[fed.start].is_sync);
            for number in &wanted {
                prop_assert!(fed.contains(number), "{number} is shown in {segment:?}");
                let own = keys.partition_point(|key| key <= number) - 1;
                let needed = if at(*number) < at(keys[own]) { own - 1 } else { own };
                prop_assert!(fed.start <= keys[needed]);
            }
            // The range is minimal: it ends with a frame of the segment, and begins at the keyframe that one
            // of them needs.
            prop_assert_eq!(wanted.iter().max(), Some(&(fed.end - 1)));
            let second = keys.iter().find(|key| fed.start < **key).copied().unwrap_or(samples.len());
            prop_assert!(wanted.iter().any(|n| *n < second || at(*n) < at(second)));
            // Short frames give short segments, except for those that align with a copy.
            prop_assert!(!plan.video.is_empty() || segment.end - segment.start <= 10_000);
        }
    }

    #[test]
    fn index_stores_encoded_cuts(video in any_open_video()) {
        let mut tracks = vec![video, audio(500)];
        let Ok(plan) = plan(&mut tracks) else { return Ok(()) };
        let index = crate::index::Index {
            source_len: u64::MAX,
            source_sha256: [0; 32],
            container: crate::index::Container::Mp4,
            objects: vec![crate::index::SampleObject::source(u64::MAX)],
            parts: Vec::new(),
            is_truncated: false,
            left_out: Vec::new(),
            overlay: None,
            tracks,
            plan,
        };
        prop_assert_eq!(crate::index::Index::from_bytes(&index.to_bytes()), Ok(index));
    }
}
