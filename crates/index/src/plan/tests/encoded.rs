//! Cuts of what is encoded: of hand-made tracks, and properties over many.

use super::*;
use crate::index::Joint;

/// Marks a track that players do not get as it is.
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

/// A video whose pictures begin at these milliseconds, all of them or only the first a keyframe.
fn slides(starts_ms: &[i64], end_ms: i64, are_keys: bool) -> Track {
    let ends = starts_ms.iter().skip(1).chain([&end_ms]);
    let pictures = starts_ms.iter().zip(ends).enumerate();
    let pictures = pictures.map(|(number, (&start, &end))| {
        sample(start, u32::try_from(end - start).unwrap(), are_keys || number == 0)
    });
    track(video_media(), pictures, TIMESCALE)
}

#[test]
fn copies_and_encodes_are_cut_alike_however_long_gops_are() {
    for keys in [&[0, 2000, 4000, 8000, 12_000][..], &[0, 9000, 18_900], &[0, 2000, 12_400], &[0]] {
        let plan = plan(&mut [video(keys, 20_000)]).unwrap();
        assert_eq!(plan.encoded_video, plan.video, "{keys:?}");
    }
}

#[test]
fn keyframes_near_the_target_are_cut_at_and_other_pictures_elsewhere() {
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
        "every picture a keyframe",
        video(&every, 14_000),
        &[(0, 0..20), (2000, 20..40), (4000, 40..80), (8000, 80..120), (12_000, 120..140)],
    );
    check("a short tail", video(&[0], 4900), &[(0, 0..20), (2000, 0..49)]);
    check("the shortest", video(&[0], 100), &[(0, 0..1)]);
}

#[test]
fn segments_end_where_an_edit_list_jumps() {
    // 2.6 s of which the last picture is not shown, then 5 s of which the first second is not.
    let pictures = |from: i64, count: i64| (0..count).map(move |n| sample(from + n * 100, 100, n == 0));
    let mut jumping = track(video_media(), pictures(0, 26).chain(pictures(1500, 50)), TIMESCALE);
    jumping.joints = vec![Joint { sample: 26, pts: 2500, configuration: 0 }];
    check("a short tail in front", jumping.clone(), &[(0, 0..25), (2500, 26..56), (4500, 26..76)]);
    // Where nothing of the second part is reached, it makes no segment.
    jumping.end = 2500;
    check("ends at the jump", jumping, &[(0, 0..25)]);
}

#[test]
fn a_segment_lasts_as_long_as_its_picture_at_least() {
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
    check("one picture for a day", slides(&[0], 86_400_000, false), &[(0, 0..1)]);
    let mut late = video(&[0], 4000);
    (late.shift, late.end) = (3500, 7500);
    check("pictures that begin late", late, &[(0, 0..1), (3600, 0..21), (5600, 0..40)]);
}

#[test]
fn the_picture_that_is_shown_at_0_may_begin_before() {
    let mut cut = slides(&[0, 1500, 3000, 4500], 6000, true);
    (cut.shift, cut.end) = (-2000, 4000);
    check("inside the second", cut, &[(0, 1..3), (2500, 3..4)]);
    let mut cut = video(&[0, 2000], 6000);
    (cut.shift, cut.end) = (-1000, 5000);
    check("at a picture", cut, &[(0, 0..20), (1000, 20..40), (3000, 20..60)]);
}

#[test]
fn pictures_that_lead_a_keyframe_are_made_from_the_one_before() {
    // I P B B of 1 s each, three times; each later I is shown after two of its B.
    let gops = (0..3_i64).flat_map(|gop| {
        let at = gop * 4000;
        [(at + 2000, true), (at + 3000, false), (at, false), (at + 1000, false)]
    });
    let samples: Vec<_> = gops.map(|(pts, is_sync)| sample(pts, 1000, is_sync)).collect();
    let mut open = track(video_media(), samples.clone(), TIMESCALE);
    // What leads the first keyframe can be made by nobody.
    (open.shift, open.end) = (-2000, 10_000);
    check("open GOPs", open.clone(), &[(0, 0..8), (4000, 4..12), (8000, 8..10)]);

    // The same of a codec whose decoders leave out what they cannot make: copied, with all of them in the
    // encoded ones.
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
fn what_has_no_keyframe_to_begin_at_is_left_out_unless_there_is_none_at_all() {
    check("a late keyframe", video(&[500], 3000), &[(0, 5..20), (2000, 5..30)]);
    check("no keyframe", video(&[], 3000), &[(0, 0..20), (2000, 0..30)]);
}

#[test]
fn too_much_for_one_segment_is_refused() {
    // A keyframe each 9, then 11 minutes, of 60 pictures a second.
    let pictures = |minutes: i64| {
        let last = minutes * 3600;
        (0..last + 60).map(move |number| sample(number * 10, 10, number == 0 || number == last))
    };
    let long = |minutes| not_copied(track(video_media(), pictures(minutes), 600));
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
fn encoded_sound_is_cut_at_the_first_frame_at_or_after_each_cut() {
    let cuts = |tracks: &mut [Track]| plan(tracks).map(|plan| plan.encoded_audio);
    // Alone: 2, 4, 8, 12 and 16 s, and a tail of less than a second.
    assert_eq!(cuts(&mut [audio(800)]), Ok(vec![vec![0, 94, 188, 375, 563, 750, 800]]));
    assert_eq!(cuts(&mut [audio(796)]), Ok(vec![vec![0, 94, 188, 375, 563, 796]]));
    // Of another rate, in other ticks: 10.01 s end in frame 470.
    let packets = (0..1001).map(|number| sample(number * 10, 10, true));
    let other = not_copied(track(audio_media(), packets, TIMESCALE));
    assert_eq!(cuts(&mut [other.clone()]), Ok(vec![vec![0, 94, 188, 375, 470]]));
    let beside = [video(&[0, 3000], 6000), audio(10), other];
    assert_eq!(cuts(&mut beside.clone()), Ok(vec![vec![0, 10], vec![0, 141, 282, 470]]));
}

#[test]
fn sound_beside_rare_pictures_has_cuts_of_its_own() {
    // A picture each half hour, and half an hour of sound in packets of a second.
    let half_hour = 1800 * 1000;
    let pictures = [0, half_hour].map(|at| sample(at, 1_800_000, true));
    let stills = track(video_media(), pictures, TIMESCALE);
    let packets = (0..3600).map(|n| sample(n * 1000, 1000, true));
    let sound = track(audio_media(), packets, TIMESCALE);
    let encoded = plan(&mut [stills.clone(), not_copied(sound.clone())]).unwrap();
    assert_eq!(encoded.encoded_video.len(), 2);
    let seconds = |frame: &u64| *frame as f64 * 1024.0 / 48_000.0;
    let cuts: Vec<f64> = encoded.encoded_audio[0].iter().map(seconds).collect();
    let lengths: Vec<f64> = cuts.windows(2).map(|ends| ends[1] - ends[0]).collect();
    assert!(cuts[1] < 2.1 && lengths.iter().all(|length| *length < 5.1), "{lengths:?}");
    assert!(cuts.contains(&seconds(&84_375)), "where the second picture begins");
    // So it is where the sound is copied.
    let copied = plan(&mut [stills, sound]).unwrap();
    let starts: Vec<i64> = copied.audio[0].iter().map(|segment| segment.start / 1000).collect();
    assert_eq!(starts[..5], [0, 2, 4, 8, 12]);
    assert!(copied.audio[0].iter().all(|segment| segment.duration() <= 5000), "{starts:?}");
    // Whatever a file says, it ends.
    let endless = track(video_media(), [sample(0, u32::MAX, true)], 1);
    let beside = plan(&mut [endless, audio(300)]).unwrap();
    assert_eq!(beside.encoded_audio, [vec![0, 94, 188, 300]]);
}

#[test]
fn sound_of_many_days_is_not_encoded() {
    let days = |days: i64| {
        let packets = [0, days * 86_400_000].map(|at| sample(at, 1000, true));
        track(audio_media(), packets, TIMESCALE)
    };
    assert_eq!(plan(&mut [days(4)]).map(|plan| plan.encoded_audio), Ok(vec![vec![]]));
    assert!(plan(&mut [not_copied(days(3))]).is_ok());
    assert_eq!(plan(&mut [not_copied(days(4))]), Err(PlanError::TooLong { seconds: 4 * 86_400 + 1 }));
    // Beside another that can be played it is left out.
    let mut tracks = vec![not_copied(days(4)), audio(100)];
    assert_eq!(plan_playable(&mut tracks).map(|plan| plan.encoded_audio), Ok(vec![vec![0, 100]]));
    assert_eq!(tracks, [audio(100)]);
}

/// GOPs of some length, the later ones led by pictures that are shown before their keyframe, and what skips
/// the start.
fn any_open_video() -> impl Strategy<Value = Track> {
    let gop = (prop::collection::vec(1..900_u32, 1..60), 0..3_usize);
    (prop::collection::vec(gop, 1..12), 0..9000_i64, any::<bool>()).prop_map(|(gops, skipped, is_copied)| {
        let mut samples = Vec::new();
        let mut at = 0;
        for (durations, leading) in gops {
            let mut pictures = Vec::new();
            for duration in durations {
                pictures.push(sample(at, duration, false));
                at += i64::from(duration);
            }
            let key = leading.min(pictures.len() - 1);
            pictures[key].is_sync = true;
            let key = pictures.remove(key);
            pictures.sort_by_key(|picture| (picture.pts / 700, -picture.pts));
            samples.push(key);
            samples.extend(pictures);
        }
        let mut track = track(video_media(), samples, TIMESCALE);
        track.shift = -skipped.min(track.end - 1);
        track.end += track.shift;
        if is_copied { track } else { not_copied(track) }
    })
}

proptest! {
    #[test]
    fn every_picture_is_made_in_one_segment_from_a_keyframe_that_suffices(video in any_open_video()) {
        let samples: Vec<_> = video.samples.iter().collect();
        let at = |number: usize| presented_at(&video, &samples[number]);
        let keys: Vec<usize> = (0..samples.len()).filter(|number| samples[*number].is_sync).collect();
        let first_key_at = at(keys[0]);
        // What leads the first keyframe is lost; an edit may leave nothing else.
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
            // No more than that: it ends with a picture of its own, and begins at the keyframe one of them
            // needs.
            prop_assert_eq!(wanted.iter().max(), Some(&(fed.end - 1)));
            let second = keys.iter().find(|key| fed.start < **key).copied().unwrap_or(samples.len());
            prop_assert!(wanted.iter().any(|n| *n < second || at(*n) < at(second)));
            // Where pictures are short, so are segments, but for those that are cut beside a copy.
            prop_assert!(!plan.video.is_empty() || segment.end - segment.start <= 10_000);
        }
    }

    #[test]
    fn an_index_keeps_the_cuts_of_what_is_encoded(video in any_open_video()) {
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
            tracks,
            plan,
        };
        prop_assert_eq!(crate::index::Index::from_bytes(&index.to_bytes()), Ok(index));
    }
}
