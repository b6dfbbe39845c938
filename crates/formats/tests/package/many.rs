//! Recordings of very many keyframes.

use kinora_index::Sample;

use crate::source::{DELAY, PICTURE, Source, VIDEO_TIMESCALE, video_track};

#[test]
fn a_long_recording_of_keyframes_alone_is_cut_like_a_short_one() {
    let recording = |count: i64| {
        let picture = |n: i64| Sample {
            dts: n * PICTURE,
            pts: n * PICTURE + DELAY,
            duration: PICTURE as u32,
            object: 0,
            offset: n as u64,
            size: 1,
            is_sync: true,
        };
        Source::new(vec![video_track(&(0..count).map(picture).collect::<Vec<_>>())], Vec::new())
            .index
            .plan
            .video
    };
    let second = i64::from(VIDEO_TIMESCALE);
    let (short, long) = (recording(60_000), recording(200_000));
    // As long as all keyframes are kept, the cuts are the same; beyond, they stay near the target.
    let common = short.len() - 1;
    assert_eq!(long[..common], short[..common]);
    let mut end = 0;
    for (n, segment) in long.iter().enumerate() {
        assert_eq!(segment.start, end);
        end = segment.end;
        let is_last = n + 1 == long.len();
        let length = segment.end - segment.start;
        assert!(length <= 8 * second && (is_last || 3 * second <= length || n < 2), "{n}: {segment:?}");
        assert_eq!(i64::from(segment.samples.start) * PICTURE, segment.start, "{n}: at its keyframe");
    }
    assert_eq!(end, 200_000 * PICTURE);
}
