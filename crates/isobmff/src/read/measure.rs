//! Rates of a track: bits a second, frames a second.

use std::collections::VecDeque;

use kinora_index::{Sample, Track, TrackMedia};
use serde::{Deserialize, Serialize};

/// Frame rates with a name, as fractions.
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
/// A measured rate this close to a named one is that one: 1 in 2000, half of what lies between 29.97 and 30.
const FRAME_RATE_SLACK: u128 = 2000;

/// Samples of the last second that are looked at one by one. Beyond that many a second, the oldest are taken
/// for a little younger.
const WINDOW_LEN_MAX: usize = 1 << 16;

/// All samples a track may have, each as large and as long as 32 bits can say, stay below.
const SUM_MAX: u64 = 1 << 56;

/// Measures a track while its samples come, so that nothing has to be read again at the end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Meter {
    timescale: u32,
    count: u64,
    pts_min: i64,
    pts_max: i64,
    bytes: u64,
    ticks: u64,
    /// The last second: when a sample is decoded, and its bytes.
    window: VecDeque<(i64, u64)>,
    window_bytes: u64,
    window_bytes_max: u64,
}

impl Meter {
    /// For a track with so many ticks a second.
    pub(super) fn new(timescale: u32) -> Self {
        Meter {
            timescale,
            count: 0,
            pts_min: i64::MAX,
            pts_max: i64::MIN,
            bytes: 0,
            ticks: 0,
            window: VecDeque::new(),
            window_bytes: 0,
            window_bytes_max: 0,
        }
    }

    /// Bytes in memory.
    pub(super) fn memory_len(&self) -> usize {
        self.window.capacity() * size_of::<(i64, u64)>()
    }

    /// Whether what came back from a checkpoint of a track with so many ticks a second can go on.
    pub(super) fn is_sound(&self, timescale: u32) -> bool {
        let window = self.window.iter().try_fold(0u64, |sum, (_, bytes)| sum.checked_add(*bytes));
        self.timescale == timescale
            && [self.count, self.bytes, self.ticks, self.window_bytes].iter().all(|sum| *sum <= SUM_MAX)
            && self.window.len() <= WINDOW_LEN_MAX
            && window == Some(self.window_bytes)
    }

    /// Takes the next sample in decode order.
    pub(super) fn push(&mut self, sample: &Sample) {
        self.count += 1;
        self.pts_min = self.pts_min.min(sample.pts);
        self.pts_max = self.pts_max.max(sample.pts);
        self.push_unseen(sample);
    }

    /// Takes the next sample in decode order, which is not shown: it makes no frame rate.
    fn push_unseen(&mut self, sample: &Sample) {
        let size = u64::from(sample.size);
        self.bytes += size;
        self.ticks += u64::from(sample.duration);
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

    /// From here on decode times begin anew.
    fn jump(&mut self) {
        self.window.clear();
        self.window_bytes = 0;
    }

    /// Fills in what only all samples say: bitrates, and the frame rate of video.
    pub(super) fn apply(&self, track: &mut Track) {
        (track.bitrate_average, track.bitrate_peak) = self.bitrates();
        if let TrackMedia::Video(video) = &mut track.media {
            video.frame_rate = self.frame_rate();
        }
    }

    /// Bits a second on average, and in the busiest second.
    fn bitrates(&self) -> (u64, u64) {
        let average = u128::from(self.bytes) * 8 * u128::from(self.timescale) / u128::from(self.ticks.max(1));
        let average = u64::try_from(average).unwrap_or(u64::MAX);
        // A track of less than a second fills no window.
        (average, average.max(self.window_bytes_max.saturating_mul(8)))
    }

    /// Frames between the first and the last presentation time, over that time.
    fn frame_rate(&self) -> Option<(u32, u32)> {
        let intervals = u128::from(self.count.checked_sub(1)?);
        let ticks = self.pts_max.checked_sub(self.pts_min)?;
        let ticks = u128::try_from(ticks).ok().filter(|&ticks| ticks > 0)?;
        named_rate(intervals * u128::from(self.timescale), ticks)
    }
}

/// Measures a track of which only a part was kept.
pub(super) fn measure(track: &mut Track) {
    let mut meter = Meter::new(track.timescale);
    for stretch in track.stretches() {
        meter.jump();
        // What lies before 0 counts, as it does where nothing jumps.
        for sample in track.samples.range(stretch.samples) {
            if stretch.shown.contains(&sample.pts) {
                meter.push(&sample);
            } else {
                meter.push_unseen(&sample);
            }
        }
    }
    meter.apply(track);
}

/// Frames over ticks as a rate with a name, or in thousandths.
pub fn named_rate(frames: u128, ticks: u128) -> Option<(u32, u32)> {
    if frames == 0 {
        return None;
    }
    // How far |frames/ticks - rate| is, in parts of rate; both fractions brought to one denominator.
    let distance =
        |&(rate, unit): &(u32, u32)| (frames * u128::from(unit)).abs_diff(ticks * u128::from(rate));
    let named = FRAME_RATES
        .iter()
        .copied()
        .find(|named| distance(named) * FRAME_RATE_SLACK <= ticks * u128::from(named.0));
    named.or_else(|| {
        // In thousandths, which is all that FRAME-RATE of a playlist can say. RFC 8216, 4.3.4.2.
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

    fn meter(timescale: u32, times: impl IntoIterator<Item = (i64, u32, u32)>) -> Meter {
        let mut meter = Meter::new(timescale);
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
    fn the_peak_is_the_busiest_second() {
        // 10 packets a second of 100 bytes, and one of 5000 in the middle.
        let packets = (0..100).map(|n| (n * 100, 100, if n == 50 { 5000 } else { 100 }));
        assert_eq!(meter(1000, packets).bitrates(), ((99 * 100 + 5000) * 8 / 10, (9 * 100 + 5000) * 8));
        assert_eq!(meter(1000, [(0, 100, 100)]).bitrates(), (8000, 8000));
        assert_eq!(meter(1000, []).bitrates(), (0, 0));
    }

    #[test]
    fn a_second_of_very_many_samples_is_measured_with_bounded_memory() {
        let count = WINDOW_LEN_MAX as i64 * 3;
        let meter = meter(10_000_000, (0..count).map(|n| (n, 1, 2)));
        assert_eq!((meter.window.len(), meter.window_bytes), (WINDOW_LEN_MAX, count as u64 * 2));
    }
}
