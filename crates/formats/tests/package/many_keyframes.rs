//! Recordings with very many keyframes.

use kinora_index::Sample;

use crate::source::{DELAY, FRAME_TICKS, Source, VIDEO_TIMESCALE, video_track};

#[test]
fn long_intra_only_video_has_normal_segments() {
    let recording = |count: i64| {
        let sample = |n: i64| Sample {
            dts: n * FRAME_TICKS,
            pts: n * FRAME_TICKS + DELAY,
            duration: FRAME_TICKS as u32,
            object: 0,
            offset: n as u64,
            size: 1,
            is_sync: true,
        };
        Source::new(vec![video_track(&(0..count).map(sample).collect::<Vec<_>>())], Vec::new())
            .index
            .plan
            .video
    };
    let second = i64::from(VIDEO_TIMESCALE);
    let (short, long) = (recording(60_000), recording(200_000));
    // While all keyframes fit the limit, the cuts are the same; beyond it, they stay near the target.
    let common = short.len() - 1;
    assert_eq!(long[..common], short[..common]);
    let mut end = 0;
    for (n, segment) in long.iter().enumerate() {
        assert_eq!(segment.start, end);
        end = segment.end;
        let is_last = n + 1 == long.len();
        let length = segment.end - segment.start;
        assert!(length <= 8 * second && (is_last || 3 * second <= length || n < 2), "{n}: {segment:?}");
        assert_eq!(i64::from(segment.samples.start) * FRAME_TICKS, segment.start, "{n}: at its keyframe");
    }
    assert_eq!(end, 200_000 * FRAME_TICKS);
}
