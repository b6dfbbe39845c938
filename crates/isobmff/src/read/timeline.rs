//! Maps the times of each track to the common timeline. M-8.
//!
//! All arithmetic is exact: times are fractions of 128-bit integers until the last step, which rounds to the
//! nearest tick of the track (halves up). So the error of a track is at most half a tick, independent of its
//! length.

use super::{super::error::ReadError, edits::Edit, samples::TrackSamples};

/// Timescale beyond which times are damage: 100 ns, the finest unit of a known writer. Limits the arithmetic
/// below to its range.
pub(super) const TIMESCALE_MAX: u32 = 10_000_000;

/// The times of one track, from which the common timeline is computed.
#[derive(Debug, Clone, Copy)]
pub struct TrackTiming {
    pub(super) timescale: u32,
    pub(super) edit: Edit,
    pub(super) first_pts: i64,
    pub(super) end_pts: i64,
    /// Average duration of a sample.
    sample_ticks: i64,
}

/// The position of a track on the common timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrackPlacement {
    /// Added to a time of the track.
    pub(super) shift: i64,
    /// End of the track, shift included.
    pub(super) end: i64,
}

impl TrackTiming {
    pub(super) fn new(timescale: u32, edit: Edit, samples: &TrackSamples) -> Self {
        let TrackSamples { first_pts, end_pts, .. } = *samples;
        TrackTiming { timescale, edit, first_pts, end_pts, sample_ticks: samples.mean_sample_duration() }
    }

    /// First presented instant of this track, on the timeline of the movie: a fraction of a second.
    fn start(&self, movie_timescale: u32) -> (i128, i128) {
        let (timescale, movie) = (i128::from(self.timescale), i128::from(movie_timescale));
        let late = i128::from(self.first_pts.saturating_sub(self.edit.media_time).max(0));
        (i128::from(self.edit.empty_duration) * timescale + late * movie, timescale * movie)
    }

    /// End of the presented media, in times of the track.
    ///
    /// A trim of less than a sample, or of less than a tick of the movie, is ignored: it is a rounding error
    /// of the writer.
    fn media_end(&self, movie_timescale: u32) -> i64 {
        let Some(duration) = self.edit.duration else { return self.end_pts };
        let (timescale, movie) = (i128::from(self.timescale), i128::from(movie_timescale));
        let trimmed = i128::from(self.edit.media_time) + rounded(i128::from(duration) * timescale, movie);
        let slack = i128::from(self.sample_ticks).max((timescale + movie - 1) / movie);
        match i64::try_from(trimmed) {
            Ok(end) if trimmed + slack < i128::from(self.end_pts) => end,
            _ => self.end_pts,
        }
    }
}

/// Places the tracks so that 0 is the earliest presented instant of all. Returns one position for each
/// timing, in order.
pub(super) fn placements(
    timings: &[TrackTiming],
    movie_timescale: u32,
) -> Result<Vec<TrackPlacement>, ReadError> {
    let starts = timings.iter().map(|timing| timing.start(movie_timescale));
    // Denominators are positive and below 2^47, numerators below 2^80.
    let Some((origin, origin_denominator)) = starts.min_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1))) else {
        return Ok(Vec::new());
    };
    let movie = i128::from(movie_timescale);
    let placement = |span: &TrackTiming| {
        let delay = (i128::from(span.edit.empty_duration) * origin_denominator - origin * movie)
            * i128::from(span.timescale);
        let shift = rounded(delay, movie * origin_denominator) - i128::from(span.edit.media_time);
        let end = shift + i128::from(span.media_end(movie_timescale));
        Some(TrackPlacement { shift: shift.try_into().ok()?, end: end.try_into().ok()? })
    };
    timings
        .iter()
        .map(|span| {
            placement(span).ok_or_else(|| ReadError::damaged("its edit list leaves the range of times"))
        })
        .collect()
}

/// The nearest integer, halves up. `denominator` is positive.
fn rounded(numerator: i128, denominator: i128) -> i128 {
    (2 * numerator + denominator).div_euclid(2 * denominator)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(timescale: u32, edit: (u64, i64, u64), times: (i64, i64)) -> TrackTiming {
        let (empty, media_time, duration) = edit;
        TrackTiming {
            timescale,
            edit: Edit { empty_duration: empty, media_time, duration: (duration > 0).then_some(duration) },
            first_pts: times.0,
            end_pts: times.1,
            sample_ticks: i64::from(timescale) / 30,
        }
    }

    fn check(name: &str, movie_timescale: u32, spans: &[TrackTiming], expected: &[(i64, i64)]) {
        let found = placements(spans, movie_timescale).unwrap();
        let places: Vec<_> = found.iter().map(|placement| (placement.shift, placement.end)).collect();
        assert_eq!(places, expected, "{name}");
    }

    #[test]
    fn zero_is_the_earliest_instant_any_track_presents() {
        let audio = span(48_000, (0, 1024, 10_000), (0, 481_024));
        check(
            "B-frames and priming",
            1000,
            &[span(15_360, (0, 1024, 10_000), (1024, 154_624)), audio],
            &[(-1024, 153_600), (-1024, 480_000)],
        );
        check(
            "no edit list, late first picture",
            1000,
            &[span(15_360, (0, 0, 0), (1024, 154_624)), audio],
            &[(0, 154_624), (-1024, 480_000)],
        );
        check(
            "video alone, late first picture",
            1000,
            &[span(15_360, (0, 0, 0), (1024, 154_624))],
            &[(-1024, 153_600)],
        );
        check(
            "audio begins 21 ms late",
            1000,
            &[span(15_360, (0, 0, 0), (0, 153_600)), span(48_000, (21, 0, 0), (0, 480_000))],
            &[(0, 153_600), (1008, 481_008)],
        );
        check(
            "both begin late",
            1000,
            &[span(15_360, (500, 0, 0), (0, 153_600)), span(48_000, (600, 0, 0), (0, 480_000))],
            &[(0, 153_600), (4800, 484_800)],
        );
        check(
            "an edit skips into the media",
            1000,
            &[span(1000, (0, 2000, 0), (0, 10_000)), span(48_000, (0, 0, 0), (0, 384_000))],
            &[(-2000, 8000), (0, 384_000)],
        );
        check("nothing", 1000, &[], &[]);
    }

    #[test]
    fn track_placements_are_rounded_once() {
        // The origin is 1/3 of a movie tick: no clock here can represent it exactly.
        let late = span(90_000, (0, 0, 0), (0, 900_000));
        check(
            "a third",
            3,
            &[span(1000, (1, 0, 0), (0, 10_000)), span(90_000, (2, 0, 0), (0, 900_000))],
            &[(0, 10_000), (30_000, 930_000)],
        );
        check(
            "halves go up",
            2000,
            &[late, span(1000, (1, 0, 0), (0, 10_000))],
            &[(0, 900_000), (1, 10_001)],
        );
        check(
            "below half goes down",
            3000,
            &[late, span(1000, (1, 0, 0), (0, 10_000))],
            &[(0, 900_000), (0, 10_000)],
        );
    }

    #[test]
    fn trim_shorter_than_a_sample_is_ignored() {
        check("two seconds", 1000, &[span(15_360, (0, 0, 8000), (0, 153_600))], &[(0, 122_880)]);
        check("less than a frame", 1000, &[span(15_360, (0, 0, 9980), (0, 153_600))], &[(0, 153_600)]);
        check("a movie clock of whole seconds", 1, &[span(15_360, (0, 0, 9), (0, 153_000))], &[(0, 153_000)]);
        check("longer than the media", 1000, &[span(15_360, (0, 0, 20_000), (0, 153_600))], &[(0, 153_600)]);
        check(
            "longer than all times",
            1000,
            &[span(15_360, (0, 0, u64::MAX), (0, 153_600))],
            &[(0, 153_600)],
        );
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let largest =
            i64::from(u32::MAX) * i64::from(super::super::tables::TRACK_SAMPLES_MAX) + i64::from(i32::MAX);
        let late = Edit {
            empty_duration: 43_200 * u64::from(TIMESCALE_MAX),
            media_time: 0,
            duration: Some(u64::MAX),
        };
        for timescale in [1, TIMESCALE_MAX] {
            for movie_timescale in [1, TIMESCALE_MAX] {
                let span = |media_time| TrackTiming {
                    timescale,
                    edit: Edit { media_time, ..late },
                    first_pts: largest,
                    end_pts: largest,
                    sample_ticks: 1,
                };
                let _ = placements(&[span(0), span(i64::MAX), span(1)], movie_timescale);
            }
        }
    }
}
