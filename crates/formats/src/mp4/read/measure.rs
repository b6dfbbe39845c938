//! Rates of a track: bits a second, frames a second.

use crate::index::{SampleTable, Track, TrackMedia};

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

/// Fills in what only the final table says: bitrates, and the frame rate of video.
pub(super) fn measure(track: &mut Track) {
    let (average, peak) = bitrates(&track.samples, track.timescale);
    track.bitrate_average = average;
    track.bitrate_peak = peak;
    if let TrackMedia::Video(video) = &mut track.media {
        video.frame_rate = frame_rate(&track.samples, track.timescale);
    }
}

/// Bits a second on average, and in the busiest second.
fn bitrates(samples: &SampleTable, timescale: u32) -> (u64, u64) {
    let (mut bytes, mut ticks, mut window_bytes, mut window_bytes_max) = (0u64, 0u64, 0u64, 0u64);
    // A second iterator follows one second behind: the window needs no memory, however many samples it holds.
    let mut leaving = samples.iter().peekable();
    for sample in samples.iter() {
        bytes += u64::from(sample.size);
        ticks += u64::from(sample.duration);
        window_bytes += u64::from(sample.size);
        while let Some(old) = leaving.next_if(|old| old.dts <= sample.dts - i64::from(timescale)) {
            window_bytes -= u64::from(old.size);
        }
        window_bytes_max = window_bytes_max.max(window_bytes);
    }
    let average = u128::from(bytes) * 8 * u128::from(timescale) / u128::from(ticks.max(1));
    let average = u64::try_from(average).unwrap_or(u64::MAX);
    // A track of less than a second fills no window.
    (average, average.max(window_bytes_max.saturating_mul(8)))
}

/// Frames between the first and the last presentation time, over that time.
fn frame_rate(samples: &SampleTable, timescale: u32) -> Option<(u32, u32)> {
    let intervals = u128::from(samples.len().checked_sub(1)?);
    let (first, last) = samples
        .iter()
        .fold((i64::MAX, i64::MIN), |(first, last), sample| (first.min(sample.pts), last.max(sample.pts)));
    let ticks = u128::try_from(last.checked_sub(first)?).ok().filter(|&ticks| ticks > 0)?;
    let frames = intervals * u128::from(timescale);
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
    use crate::index::Sample;

    fn table(times: impl IntoIterator<Item = (i64, u32, u32)>) -> SampleTable {
        times
            .into_iter()
            .map(|(dts, duration, size)| Sample { dts, pts: dts, duration, offset: 0, size, is_sync: true })
            .collect()
    }

    #[test]
    fn frame_rates_get_their_names() {
        fn check(name: &str, timescale: u32, times: Vec<i64>, expected: Option<(u32, u32)>) {
            assert_eq!(
                frame_rate(&table(times.into_iter().map(|dts| (dts, 1, 1))), timescale),
                expected,
                "{name}"
            );
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
        let samples = table((0..100).map(|n| (n * 100, 100, if n == 50 { 5000 } else { 100 })));
        assert_eq!(bitrates(&samples, 1000), ((99 * 100 + 5000) * 8 / 10, (9 * 100 + 5000) * 8));
        let short = table([(0, 100, 100)]);
        assert_eq!(bitrates(&short, 1000), (8000, 8000));
        assert_eq!(bitrates(&table([]), 1000), (0, 0));
    }
}
