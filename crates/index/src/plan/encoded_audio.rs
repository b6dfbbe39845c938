//! Cuts of encoded audio: on the grid of its frames, at the first frame that starts at or after each cut of
//! the encoded video.

use super::{
    AUDIO_SEGMENTS_MAX, SEGMENT_FIRST_TARGET_S, SEGMENT_MIN_S, SEGMENT_TARGET_S, Segment, cuts_aligned_with,
};
use crate::index::{ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE};

/// An instant in ticks of some clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct MediaTime {
    pub(super) ticks: i64,
    pub(super) timescale: u32,
}

impl MediaTime {
    /// The number of the first frame that starts at or after this instant.
    fn next_frame(self) -> u64 {
        let samples = u128::try_from(self.ticks).unwrap_or(0) * u128::from(ENCODED_AUDIO_RATE);
        let frame = samples.div_ceil(u128::from(self.timescale.max(1)) * u128::from(ENCODED_AUDIO_FRAME));
        u64::try_from(frame).unwrap_or(u64::MAX)
    }

    fn plus_seconds(self, seconds: i64) -> Self {
        let ticks = self.ticks.saturating_add(seconds.saturating_mul(i64::from(self.timescale)));
        Self { ticks, ..self }
    }
}

/// The frame numbers of the cuts of a track that ends at `end`, from 0 to the first frame after it.
///
/// Cuts follow the segments of the video (with its timescale), with additional cuts in very long ones, then
/// every target length. Without video they are a grid of target lengths. `None` for a track that is too
/// long.
pub(super) fn cuts(video: Option<(u32, &[Segment])>, end: MediaTime) -> Option<Vec<u64>> {
    let video_cuts: Vec<MediaTime> = match video {
        Some((timescale, segments)) => {
            let cuts = cuts_aligned_with(timescale, segments).into_iter();
            cuts.map(|ticks| MediaTime { ticks, timescale }).collect()
        }
        None => {
            let zero = MediaTime { ticks: 0, timescale: ENCODED_AUDIO_RATE };
            vec![zero.plus_seconds(SEGMENT_FIRST_TARGET_S), zero.plus_seconds(2 * SEGMENT_FIRST_TARGET_S)]
        }
    };
    let last = video_cuts.last().copied();
    let grid_cuts =
        last.into_iter().flat_map(|last| (1..).map(move |n: i64| last.plus_seconds(n * SEGMENT_TARGET_S)));
    let end_frame = end.next_frame();
    let mut cuts = vec![0];
    for frame in video_cuts
        .into_iter()
        .chain(grid_cuts)
        .map(MediaTime::next_frame)
        .take_while(|frame| *frame < end_frame)
    {
        if cuts.last().is_some_and(|last| *last < frame) {
            cuts.push(frame);
        }
        if AUDIO_SEGMENTS_MAX < cuts.len() {
            return None;
        }
    }
    // A short tail joins the segment before it.
    let segment_frames_min = MediaTime { ticks: SEGMENT_MIN_S, timescale: 1 }.next_frame();
    if 1 < cuts.len() && cuts.last().is_some_and(|last| end_frame - last < segment_frames_min) {
        cuts.pop();
    }
    cuts.push(end_frame);
    Some(cuts)
}
