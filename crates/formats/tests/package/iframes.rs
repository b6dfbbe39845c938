//! Keyframes one by one.

use kinora_index::{TrackMedia, plan::presented_at};
use kinora_isobmff::write::{WriteError, iframe_head, iframes};

use crate::boxes::fragment;
use crate::source::{
    DELAY, FRAME_TICKS, VIDEO_TIMESCALE, audio_only, clip, video_only, video_samples, video_track,
};

#[test]
fn every_keyframe_is_a_segment_that_lasts_until_the_next() {
    let clip = clip();
    let (track, _) = clip.index.video().unwrap();
    let listed = iframes(&clip.index);
    let starts: Vec<i64> = listed.iter().map(|iframe| iframe.start / i64::from(VIDEO_TIMESCALE)).collect();
    assert_eq!(starts, [0, 2, 4, 6, 8, 10]);
    for (number, iframe) in (0..).zip(&listed) {
        let head = iframe_head(&clip.index, &listed, number).unwrap();
        let segment = clip.segment(&head);
        assert_eq!(segment.len() as u64, head.total_len);
        let fragment = fragment(&segment);
        let sample = track.samples.get(iframe.samples.start).unwrap();
        assert!(sample.is_sync);
        assert_eq!(fragment.samples.len(), 1);
        assert_eq!(fragment.presentation(), [presented_at(track, &sample) + DELAY]);
        assert_eq!(fragment.decode_time + fragment.duration(), iframe.end as u64);
        assert_eq!(fragment.size(), u64::from(sample.size));
    }
    assert_eq!(listed.last().unwrap().end, track.end);
    assert_eq!(iframe_head(&clip.index, &listed, 6), Err(WriteError::NoSuchSegment { number: 6 }));
}

#[test]
fn iframe_playlist_lists_two_keyframes_per_second() {
    let mut samples = video_samples(300);
    samples.iter_mut().for_each(|sample| (sample.is_sync, sample.pts) = (true, sample.dts + DELAY));
    let mut source = video_only(|_, _| {});
    let mut track = video_track(&samples);
    let TrackMedia::Video(video) = &mut track.media else { unreachable!("it is video") };
    video.composition_shift = DELAY;
    source = crate::source::Source::new(vec![track], source.bytes);
    let listed = iframes(&source.index);
    assert_eq!(listed.len(), 20);
    assert!(listed.iter().all(|iframe| iframe.end - iframe.start == 15 * FRAME_TICKS));
}

#[test]
fn video_not_copied_has_no_iframe_playlist() {
    assert_eq!(iframes(&audio_only().index), []);
    let mut clip = clip();
    clip.index.plan.video.clear();
    assert_eq!(iframes(&clip.index), []);
}
