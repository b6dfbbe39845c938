//! When the pictures of some segments are shown, in the source and in the feed of an encoder.
//!
//! An encoder may drop pictures that do not decode, or that are not shown, and makes times of its own clock.
//! So what comes out is matched with what went in by time, never by count. D-0038.

use std::ops::Range;

use kinora_index::Timeline;

/// Seconds in front of the first segment of a feed, so that no time of it is negative; more where more has to
/// be decoded.
pub(super) const LEAD_S_MIN: i64 = 10;
/// How far the time of a picture that comes out may be from that of the one that went in, in parts of a
/// second: Matroska tells whole milliseconds.
const SLACK_PARTS: i64 = 1000;
/// Where nothing is in front of a cut or behind it, the cut is so far from what is on its other side. Half a
/// second.
const OPEN_CUT_US: i64 = 500_000;
const MICROSECONDS: i128 = 1_000_000;

/// Some segments that are encoded one behind the other.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// Their numbers.
    pub(super) numbers: Range<u32>,
    /// Where each begins on the common timeline, and where the last ends, in ticks of the source. One more
    /// than there are segments.
    pub(super) cuts: Vec<i64>,
    /// When each picture that is fed is shown, rising.
    pub(super) times: Vec<i64>,
    /// Ticks a second of all times above; not 0.
    pub(super) timescale: u32,
    /// How times are written.
    pub(super) timeline: Timeline,
    /// Whole seconds of the feed in front of the first segment.
    pub(super) lead_s: i64,
}

impl Run {
    /// Where the first segment begins.
    pub(super) fn start(&self) -> i64 {
        self.cuts.first().copied().unwrap_or(0)
    }

    /// An instant of the common timeline in ticks of the feed.
    pub(super) fn fed_at(&self, ticks: i64) -> i64 {
        let lead = self.lead_s.saturating_mul(i64::from(self.timescale));
        ticks.saturating_sub(self.start()).saturating_add(lead)
    }

    /// An instant of the common timeline in microseconds of the feed, rounded down.
    pub(super) fn time_us(&self, ticks: i64) -> i64 {
        let us = i128::from(self.fed_at(ticks)) * MICROSECONDS;
        narrow(us.div_euclid(i128::from(self.timescale)))
    }

    /// An instant of the feed between the last picture shown before `cut` and the first one shown from then
    /// on: whoever compares times with it is not misled by rounding.
    pub(super) fn between_us(&self, cut: i64) -> i64 {
        let place = self.times.partition_point(|time| *time < cut);
        let before = place.checked_sub(1).and_then(|before| self.times.get(before));
        match (before, self.times.get(place)) {
            (Some(before), Some(after)) => {
                let twice = i128::from(self.fed_at(*before)) + i128::from(self.fed_at(*after));
                narrow((twice * MICROSECONDS).div_euclid(2 * i128::from(self.timescale)))
            }
            (None, Some(after)) => self.time_us(*after).saturating_sub(OPEN_CUT_US),
            (Some(before), None) => self.time_us(*before).saturating_add(OPEN_CUT_US),
            (None, None) => self.time_us(cut),
        }
    }

    /// The instant of the common timeline that a time of the encoder means: `time` in parts of a second of
    /// the feed, to the nearest tick.
    pub(super) fn meant(&self, time: i64, parts: u32) -> i64 {
        let parts = i128::from(parts.max(1));
        let fed = (i128::from(time) * i128::from(self.timescale) * 2 + parts).div_euclid(2 * parts);
        let lead = i128::from(self.lead_s) * i128::from(self.timescale);
        narrow(fed - lead + i128::from(self.start()))
    }

    /// Which of the pictures is shown at this instant, or next to it. `None` where none is.
    pub(super) fn picture_at(&self, ticks: i64) -> Option<usize> {
        let after = self.times.partition_point(|time| *time < ticks);
        let distance = |place: &usize| self.times.get(*place).map(|time| time.abs_diff(ticks));
        let nearest = [after.checked_sub(1), Some(after)]
            .into_iter()
            .flatten()
            .filter(|place| *place < self.times.len());
        let nearest = nearest.min_by_key(|place| distance(place))?;
        self.is_near(nearest, ticks).then_some(nearest)
    }

    /// Whether this picture may be the one that came out for this instant.
    pub(super) fn is_near(&self, picture: usize, ticks: i64) -> bool {
        let slack = i64::from(self.timescale).div_euclid(SLACK_PARTS).max(1).unsigned_abs();
        self.times.get(picture).is_some_and(|time| time.abs_diff(ticks) <= slack)
    }
}

fn narrow(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 23.976 pictures a second from the fifth on; two segments of three and two pictures.
    fn run() -> Run {
        Run {
            numbers: 1..3,
            cuts: vec![5005, 8008, 10_010],
            times: vec![4004, 5005, 6006, 7007, 8008, 9009, 10_010],
            timescale: 24_000,
            timeline: Timeline { timescale: 24_000, factor: 1, media_time: 0 },
            lead_s: 10,
        }
    }

    #[test]
    fn the_first_segment_begins_after_the_lead() {
        assert_eq!(run().time_us(5005), 10_000_000);
        assert_eq!(run().time_us(4004), 9_958_291);
        assert_eq!(run().fed_at(6006), 241_001);
    }

    #[test]
    fn cuts_lie_between_two_pictures() {
        let run = run();
        assert_eq!(run.between_us(5005), 9_979_145);
        assert_eq!(run.between_us(8008), 10_104_270);
        assert_eq!(run.between_us(10_010), 10_187_687);
        assert_eq!(run.between_us(0), 9_458_291, "before the first picture");
        assert_eq!(run.between_us(99_000), 10_708_541, "behind the last one");
    }

    #[test]
    fn times_of_other_clocks_find_their_picture() {
        let run = run();
        for (place, time) in run.times.iter().enumerate() {
            let fed = run.fed_at(*time);
            for parts in [1000, 24_000, 90_000, 1_000_000] {
                let rounded = (fed * i64::from(parts) + 12_000).div_euclid(24_000);
                assert_eq!(run.picture_at(run.meant(rounded, parts)), Some(place), "{time} in 1/{parts}");
            }
        }
        assert_eq!(run.picture_at(5005 + 25), None);
        assert_eq!(run.picture_at(i64::MIN), None);
        assert_eq!(run.picture_at(run.meant(i64::MAX, 1)), None);
        assert_eq!(Run { times: Vec::new(), ..run }.picture_at(0), None);
    }
}
