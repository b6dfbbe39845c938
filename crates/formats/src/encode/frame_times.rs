//! Presentation times of the frames of some segments, in the source and in the feed of an encoder.
//!
//! An encoder may drop frames that do not decode or are not presented, and uses its own clock. So output
//! frames are matched with input frames by time, never by count. D-0038.

use std::ops::Range;

use kinora_index::Timeline;

/// Seconds before the first segment of a feed, so that no time of it is negative; more if more must be
/// decoded.
pub(super) const LEAD_S_MIN: i64 = 10;
/// An output frame and its input frame differ by at most a second divided by this: Matroska stores whole
/// milliseconds.
const TOLERANCE_DIVISOR: i64 = 1000;
/// Distance of a cut from the nearest frame if there is no frame on its other side. Half a second.
const ONE_SIDED_CUT_DISTANCE_US: i64 = 500_000;
const MICROSECONDS: i128 = 1_000_000;

/// Consecutive segments that are encoded together.
#[derive(Debug, Clone)]
pub(super) struct SegmentRun {
    /// Their numbers.
    pub(super) numbers: Range<u32>,
    /// Start of each segment on the common timeline, and end of the last, in ticks of the source. One more
    /// than there are segments.
    pub(super) cuts: Vec<i64>,
    /// Presentation times of the fed frames, rising.
    pub(super) times: Vec<i64>,
    /// Ticks per second of all times above; not 0.
    pub(super) timescale: u32,
    /// The timeline of the output.
    pub(super) timeline: Timeline,
    /// Whole seconds of the feed before the first segment.
    pub(super) lead_s: i64,
}

impl SegmentRun {
    /// Start of the first segment.
    pub(super) fn start(&self) -> i64 {
        self.cuts.first().copied().unwrap_or(0)
    }

    /// An instant of the common timeline in ticks of the feed.
    pub(super) fn feed_ticks(&self, ticks: i64) -> i64 {
        let lead = self.lead_s.saturating_mul(i64::from(self.timescale));
        ticks.saturating_sub(self.start()).saturating_add(lead)
    }

    /// An instant of the common timeline in microseconds of the feed, rounded down.
    pub(super) fn feed_us(&self, ticks: i64) -> i64 {
        let us = i128::from(self.feed_ticks(ticks)) * MICROSECONDS;
        narrow(us.div_euclid(i128::from(self.timescale)))
    }

    /// An instant of the feed between the last frame presented before `cut` and the next one: comparisons
    /// with it are safe from rounding.
    pub(super) fn feed_cut_us(&self, cut: i64) -> i64 {
        let index = self.times.partition_point(|time| *time < cut);
        let before = index.checked_sub(1).and_then(|before| self.times.get(before));
        match (before, self.times.get(index)) {
            (Some(before), Some(after)) => {
                let twice = i128::from(self.feed_ticks(*before)) + i128::from(self.feed_ticks(*after));
                narrow((twice * MICROSECONDS).div_euclid(2 * i128::from(self.timescale)))
            }
            (None, Some(after)) => self.feed_us(*after).saturating_sub(ONE_SIDED_CUT_DISTANCE_US),
            (Some(before), None) => self.feed_us(*before).saturating_add(ONE_SIDED_CUT_DISTANCE_US),
            (None, None) => self.feed_us(cut),
        }
    }

    /// Converts `time`, a time of the feed in units of 1 / `encoder_timescale` s, to the nearest tick of the
    /// common timeline.
    pub(super) fn source_ticks(&self, time: i64, encoder_timescale: u32) -> i64 {
        let parts = i128::from(encoder_timescale.max(1));
        let fed = (i128::from(time) * i128::from(self.timescale) * 2 + parts).div_euclid(2 * parts);
        let lead = i128::from(self.lead_s) * i128::from(self.timescale);
        narrow(fed - lead + i128::from(self.start()))
    }

    /// Index of the frame that is presented at this instant, or nearest to it. `None` if no frame is near
    /// ([`Self::is_near`]).
    pub(super) fn frame_index_at(&self, ticks: i64) -> Option<usize> {
        let after = self.times.partition_point(|time| *time < ticks);
        let distance = |index: &usize| self.times.get(*index).map(|time| time.abs_diff(ticks));
        let nearest = [after.checked_sub(1), Some(after)]
            .into_iter()
            .flatten()
            .filter(|place| *place < self.times.len());
        let nearest = nearest.min_by_key(|place| distance(place))?;
        self.is_near(nearest, ticks).then_some(nearest)
    }

    /// Whether this input frame is close enough to the instant of an output frame.
    pub(super) fn is_near(&self, index: usize, ticks: i64) -> bool {
        let tolerance = i64::from(self.timescale).div_euclid(TOLERANCE_DIVISOR).max(1).unsigned_abs();
        self.times.get(index).is_some_and(|time| time.abs_diff(ticks) <= tolerance)
    }
}

fn narrow(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 23.976 frames per second from the fifth on; two segments of three and two frames.
    fn run() -> SegmentRun {
        SegmentRun {
            numbers: 1..3,
            cuts: vec![5005, 8008, 10_010],
            times: vec![4004, 5005, 6006, 7007, 8008, 9009, 10_010],
            timescale: 24_000,
            timeline: Timeline { timescale: 24_000, factor: 1, media_time: 0 },
            lead_s: 10,
        }
    }

    #[test]
    fn first_segment_begins_after_the_lead() {
        assert_eq!(run().feed_us(5005), 10_000_000);
        assert_eq!(run().feed_us(4004), 9_958_291);
        assert_eq!(run().feed_ticks(6006), 241_001);
    }

    #[test]
    fn cuts_are_midway_between_two_frames() {
        let run = run();
        assert_eq!(run.feed_cut_us(5005), 9_979_145);
        assert_eq!(run.feed_cut_us(8008), 10_104_270);
        assert_eq!(run.feed_cut_us(10_010), 10_187_687);
        assert_eq!(run.feed_cut_us(0), 9_458_291, "before the first frame");
        assert_eq!(run.feed_cut_us(99_000), 10_708_541, "behind the last one");
    }

    #[test]
    fn encoder_times_match_source_frames() {
        let run = run();
        for (index, time) in run.times.iter().enumerate() {
            let fed = run.feed_ticks(*time);
            for parts in [1000, 24_000, 90_000, 1_000_000] {
                let rounded = (fed * i64::from(parts) + 12_000).div_euclid(24_000);
                assert_eq!(
                    run.frame_index_at(run.source_ticks(rounded, parts)),
                    Some(index),
                    "{time} in 1/{parts}"
                );
            }
        }
        assert_eq!(run.frame_index_at(5005 + 25), None);
        assert_eq!(run.frame_index_at(i64::MIN), None);
        assert_eq!(run.frame_index_at(run.source_ticks(i64::MAX, 1)), None);
        assert_eq!(SegmentRun { times: Vec::new(), ..run }.frame_index_at(0), None);
    }
}
