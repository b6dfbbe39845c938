//! Rates of a track: bits per second, frames per second.

use std::collections::VecDeque;

use kinora_index::{Sample, Track, TrackMedia};
use serde::{Deserialize, Serialize};

/// Common frame rates, as fractions.
const FRAME_RATES: [(u32, u32); 18] = [
    (24_000, 1001),
    (24, 1),
    (25, 1),
    (30_000, 1001),
    (30, 1),
    (48, 1),
    (50, 1),
    (60_000, 1001),
    (60, 1),
    (100, 1),
    (120_000, 1001),
    (120, 1),
    (240, 1),
    (10, 1),
    (12, 1),
    (15_000, 1001),
    (15, 1),
    (20, 1),
];
/// A measured rate within this distance is rounded to a common one: 1 in 2000, half of the distance between
/// 29.97 and 30.
const FRAME_RATE_TOLERANCE_DIVISOR: u128 = 2000;

/// Maximum number of samples in the window of the last second. With more samples per second, the oldest ones
/// count as a little younger.
const WINDOW_LEN_MAX: usize = 1 << 16;

/// The bytes of all samples of a track stay below, even if each has the maximum of 32 bits.
const SUM_MAX: u64 = 1 << 56;

/// Measures a track while its samples arrive, so that no second pass is needed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RateMeter {
    timescale: u32,
    count: u64,
    pts_min: i64,
    pts_max: i64,
    bytes: u64,
    duration_ticks: u64,
    /// The last second: decode time and bytes of each sample.
    window: VecDeque<(i64, u64)>,
    window_bytes: u64,
    window_bytes_max: u64,
}

impl RateMeter {
    /// `timescale` is in ticks per second.
    pub(super) fn new(timescale: u32) -> Self {
        RateMeter {
            timescale,
            count: 0,
            pts_min: i64::MAX,
            pts_max: i64::MIN,
            bytes: 0,
            duration_ticks: 0,
            window: VecDeque::new(),
            window_bytes: 0,
            window_bytes_max: 0,
        }
    }

    /// Bytes in memory.
    pub(super) fn memory_len(&self) -> usize {
        self.window.capacity() * size_of::<(i64, u64)>()
    }

    /// Whether a state that was read from a checkpoint is valid; `timescale` is in ticks per second.
    pub(super) fn is_valid(&self, timescale: u32) -> bool {
        let window = self.window.iter().try_fold(0u64, |sum, (_, bytes)| sum.checked_add(*bytes));
        self.timescale == timescale
            && [self.count, self.bytes, self.duration_ticks, self.window_bytes]
                .iter()
                .all(|sum| *sum <= SUM_MAX)
            && self.window.len() <= WINDOW_LEN_MAX
            && window == Some(self.window_bytes)
    }

    /// Counts the next sample in decode order.
    pub(super) fn push(&mut self, sample: &Sample) {
        self.count += 1;
        self.pts_min = self.pts_min.min(sample.pts);
        self.pts_max = self.pts_max.max(sample.pts);
        self.push_hidden(sample);
    }

    /// Counts the next sample in decode order, which is not presented: it does not count for the frame rate.
    fn push_hidden(&mut self, sample: &Sample) {
        let size = u64::from(sample.size);
        self.bytes += size;
        self.duration_ticks += u64::from(sample.duration);
        if self.window.len() == WINDOW_LEN_MAX
            && let Some((_, bytes)) = self.window.pop_front()
            && let Some(next) = self.window.front_mut()
        {
            next.1 += bytes;
        }
        self.window.push_back((sample.dts, size));
        self.window_bytes += size;
        while let Some((_, bytes)) =
            self.window.pop_front_if(|(dts, _)| *dts <= sample.dts - i64::from(self.timescale))
        {
            self.window_bytes -= bytes;
        }
        self.window_bytes_max = self.window_bytes_max.max(self.window_bytes);
    }

    /// Restarts the window, because decode times restart here.
    fn restart_window(&mut self) {
        self.window.clear();
        self.window_bytes = 0;
    }

    /// Sets the values that need all samples: bitrates, and the frame rate of video.
    pub(super) fn set_rates(&self, track: &mut Track) {
        (track.bitrate_average, track.bitrate_peak) = self.bitrates();
        if let TrackMedia::Video(video) = &mut track.media {
            video.frame_rate = self.frame_rate();
        }
    }

    /// Bits per second on average, and in the busiest second.
    fn bitrates(&self) -> (u64, u64) {
        let average =
            u128::from(self.bytes) * 8 * u128::from(self.timescale) / u128::from(self.duration_ticks.max(1));
        let average = u64::try_from(average).unwrap_or(u64::MAX);
        // A track of less than a second fills no window.
        (average, average.max(self.window_bytes_max.saturating_mul(8)))
    }

    /// Frames between the first and the last presentation time, over that time.
    fn frame_rate(&self) -> Option<(u32, u32)> {
        let intervals = u128::from(self.count.checked_sub(1)?);
        let ticks = self.pts_max.checked_sub(self.pts_min)?;
        let ticks = u128::try_from(ticks).ok().filter(|&ticks| ticks > 0)?;
        round_frame_rate(intervals * u128::from(self.timescale), ticks)
    }
}

/// Measures the rates of a track that was cut, and sets them.
pub(super) fn set_rates(track: &mut Track) {
    let mut meter = RateMeter::new(track.timescale);
    for span in track.edit_spans() {
        meter.restart_window();
        // Samples before 0 count, as they do in a track without edit points.
        for sample in track.samples.range(span.samples) {
            if span.shown.contains(&sample.pts) {
                meter.push(&sample);
            } else {
                meter.push_hidden(&sample);
            }
        }
    }
    meter.set_rates(track);
}

/// Rounds frames over ticks to a common frame rate, or else to thousandths.
pub fn round_frame_rate(frames: u128, ticks: u128) -> Option<(u32, u32)> {
    if frames == 0 {
        return None;
    }
    // The distance |frames/ticks - rate|, in parts of rate; both fractions have one denominator.
    let distance =
        |&(rate, unit): &(u32, u32)| (frames * u128::from(unit)).abs_diff(ticks * u128::from(rate));
    let common = FRAME_RATES
        .iter()
        .copied()
        .find(|named| distance(named) * FRAME_RATE_TOLERANCE_DIVISOR <= ticks * u128::from(named.0));
    common.or_else(|| {
        // In thousandths, the precision of FRAME-RATE in a playlist. RFC 8216, 4.3.4.2.
        let thousandths = u32::try_from((frames * 1000 + ticks / 2) / ticks).ok().filter(|&rate| rate > 0)?;
        let divisor = [1000, 500, 250, 200, 125, 100, 50, 40, 25, 20, 10, 8, 5, 4, 2]
            .into_iter()
            .find(|divisor| thousandths % divisor == 0)
            .unwrap_or(1);
        Some((thousandths / divisor, 1000 / divisor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(timescale: u32, times: impl IntoIterator<Item = (i64, u32, u32)>) -> RateMeter {
        let mut meter = RateMeter::new(timescale);
        for (dts, duration, size) in times {
            meter.push(&Sample { dts, pts: dts, duration, object: 0, offset: 0, size, is_sync: true });
        }
        meter
    }

    #[test]
    fn frame_rates_get_their_names() {
        fn check(name: &str, timescale: u32, times: Vec<i64>, expected: Option<(u32, u32)>) {
            let meter = meter(timescale, times.into_iter().map(|dts| (dts, 1, 1)));
            assert_eq!(meter.frame_rate(), expected, "{name}");
        }
        let steady = |count: i64, delta: i64| (0..count).map(|n| n * delta).collect::<Vec<_>>();
        check("30", 15_360, steady(300, 512), Some((30, 1)));
        check("29.97", 30_000, steady(300, 1001), Some((30_000, 1001)));
        check("23.976", 24_000, steady(300, 1001), Some((24_000, 1001)));
        check(
            "59.94 in whole milliseconds",
            1000,
            (0..600).map(|n| n * 1001 / 60).collect(),
            Some((60_000, 1001)),
        );
        check(
            "30 in whole milliseconds",
            1000,
            (0..300).map(|n| (n * 1000 + 15) / 30).collect(),
            Some((30, 1)),
        );
        check("12.5", 1000, steady(100, 80), Some((25, 2)));
        check("17.9 on average", 1000, steady(100, 56), Some((17_857, 1000)));
        check("a slide show", 1, steady(4, 3600), None);
        check("one frame", 1000, vec![0], None);
        check("none", 1000, vec![], None);
    }

    #[test]
    fn peak_bitrate_is_the_busiest_second() {
        // 10 packets per second of 100 bytes, and one of 5000 in the middle.
        let packets = (0..100).map(|n| (n * 100, 100, if n == 50 { 5000 } else { 100 }));
        assert_eq!(meter(1000, packets).bitrates(), ((99 * 100 + 5000) * 8 / 10, (9 * 100 + 5000) * 8));
        assert_eq!(meter(1000, [(0, 100, 100)]).bitrates(), (8000, 8000));
        assert_eq!(meter(1000, []).bitrates(), (0, 0));
    }

    #[test]
    fn dense_samples_are_measured_with_bounded_memory() {
        let count = WINDOW_LEN_MAX as i64 * 3;
        let meter = meter(10_000_000, (0..count).map(|n| (n, 1, 2)));
        assert_eq!((meter.window.len(), meter.window_bytes), (WINDOW_LEN_MAX, count as u64 * 2));
    }
}
