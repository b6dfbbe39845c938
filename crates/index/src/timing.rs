//! The one rule for timestamps: a segment of any rendition lasts exactly as planned.
//!
//! Decode times are the presentation times in increasing order. So decode time begins at the segment's start
//! and the durations sum to its length: segments have no gap and no overlap. Where samples are reordered
//! across a pause, some are decoded earlier than that, never later than they are presented. A constant is
//! added to every composition offset so that none is negative; the edit list of the init segment subtracts
//! it again.
//!
//! Pure arithmetic, independent of boxes and tracks.

/// Shortest duration that [`restamp`] gives, as a part of a second: 10 us.
///
/// Browsers count whole microseconds. To Chromium, a sample without a duration makes the next one begin after
/// a gap, and it drops all samples until the next keyframe.
const DURATIONS_PER_S_MAX: u32 = 100_000;

/// The presentation range of a segment, in ticks: from `start` to just before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First instant.
    pub start: i64,
    /// The instant after the last one.
    pub end: i64,
}

/// The output times of one sample of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleTimes {
    /// Decode time in ticks.
    pub dts: i64,
    /// Ticks until the next sample is decoded, or until the segment ends; at least 1, and at least 10 us
    /// where the samples and the composition shift allow that.
    pub duration: u32,
    /// Presentation time minus `dts`, plus the composition shift; never negative.
    pub composition_offset: i32,
}

/// Why samples cannot get valid times.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// There are more samples than ticks (or no sample).
    #[error("{samples} samples do not fit in {ticks} ticks")]
    SpanTooShort {
        /// Number of samples.
        samples: usize,
        /// Number of ticks.
        ticks: i64,
    },
    /// The composition shift is too small for the reordering of the samples.
    #[error("composition shift {given} is below the {needed} ticks the samples need")]
    ShiftTooSmall {
        /// The given composition shift.
        given: i64,
        /// The smallest valid one.
        needed: i64,
    },
    /// A duration has more than 32 bits, or an offset more than 31.
    #[error("{ticks} ticks between samples are too many")]
    TooLong {
        /// The number that does not fit.
        ticks: i64,
    },
}

/// Computes the output times of the samples of one segment.
///
/// `presentation` contains their presentation times in decode order. `composition_shift` is the constant D
/// of the source, the same for all its segments. All use the same ticks, `timescale` per second.
///
/// Preserves the order of presentation; equal times stay in decode order. Samples inside the span keep their
/// times, except that the first one presented begins with the span. Samples outside it are needed to decode
/// the others. They get the shortest duration each at the near edge, where they stay invisible. They cannot
/// be left outside: for a sample before 0 or after the end, players would drop its whole GOP.
pub fn restamp(
    presentation: &[i64],
    span: Span,
    composition_shift: i64,
    timescale: u32,
) -> Result<Vec<SampleTimes>, TimingError> {
    let count = i64::try_from(presentation.len()).unwrap_or(i64::MAX);
    let ticks = span.end.saturating_sub(span.start);
    if count == 0 || ticks < count {
        return Err(TimingError::SpanTooShort { samples: presentation.len(), ticks });
    }
    let step = i64::from(timescale.div_ceil(DURATIONS_PER_S_MAX)).min(ticks / count).max(1);
    restamp_by(step, presentation, span, composition_shift)
        .or_else(|_| restamp_by(1, presentation, span, composition_shift))
}

/// [`restamp`] with durations of at least `step` ticks; as many fit into the span as there are samples.
fn restamp_by(
    step: i64,
    presentation: &[i64],
    span: Span,
    composition_shift: i64,
) -> Result<Vec<SampleTimes>, TimingError> {
    let mut order: Vec<usize> = (0..presentation.len()).collect();
    order.sort_by_key(|index| presentation[*index]);
    let times = fit_into_span(step, order.iter().map(|index| presentation[*index]), span);

    let mut output_pts = vec![0; times.len()];
    for (rank, index) in order.iter().enumerate() {
        output_pts[*index] = times[rank];
    }
    let output_dts = decode_times(step, &times, &output_pts, composition_shift);
    let missing = output_dts.first().map_or(0, |first| span.start.saturating_sub(*first));
    if missing > 0 {
        let needed = composition_shift.saturating_add(missing);
        return Err(TimingError::ShiftTooSmall { given: composition_shift, needed });
    }
    let ends = output_dts.iter().skip(1).copied().chain([span.end]);
    let stamp = |((dts, next), pts): ((i64, i64), i64)| {
        Ok(SampleTimes {
            dts,
            duration: narrow(next.saturating_sub(dts))?,
            composition_offset: narrow(pts.saturating_sub(dts).saturating_add(composition_shift))?,
        })
    };
    output_dts.iter().copied().zip(ends).zip(output_pts.iter().copied()).map(stamp).collect()
}

/// Decode times in decode order: the presentation times in increasing order, but none later than its sample
/// is presented.
///
/// Only a reordering across a pause, with a shift shorter than the pause, makes some earlier. They stay
/// `step` ticks apart. The first one precedes the span's start where the shift is too small even for that.
fn decode_times(step: i64, times: &[i64], output_pts: &[i64], composition_shift: i64) -> Vec<i64> {
    let mut latest = i64::MAX;
    let mut output_dts = times.to_vec();
    for (dts, pts) in output_dts.iter_mut().zip(output_pts).rev() {
        latest = latest.saturating_sub(step).min(pts.saturating_add(composition_shift));
        *dts = (*dts).min(latest);
    }
    output_dts
}

/// Presentation times in increasing order made at least `step` ticks apart, the first at the span's start,
/// all inside the span.
///
/// The span has at least `step` ticks for each.
fn fit_into_span(step: i64, times: impl ExactSizeIterator<Item = i64>, span: Span) -> Vec<i64> {
    let count = i64::try_from(times.len()).unwrap_or(i64::MAX);
    let mut earliest = span.start;
    let mut latest = span.end - count.saturating_mul(step);
    times
        .enumerate()
        .map(|(rank, time)| {
            let time = if rank == 0 { span.start } else { time.clamp(earliest, latest) };
            earliest = time + step;
            latest += step;
            time
        })
        .collect()
}

fn narrow<T: TryFrom<i64>>(ticks: i64) -> Result<T, TimingError> {
    T::try_from(ticks).map_err(|_| TimingError::TooLong { ticks })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(
        presentation: &[i64],
        (start, end): (i64, i64),
        shift: i64,
        expected: Result<&[(i64, u32, i32)], TimingError>,
    ) {
        check_in(1000, presentation, (start, end), shift, expected);
    }

    fn check_in(
        timescale: u32,
        presentation: &[i64],
        (start, end): (i64, i64),
        shift: i64,
        expected: Result<&[(i64, u32, i32)], TimingError>,
    ) {
        let stamps = restamp(presentation, Span { start, end }, shift, timescale);
        let triples = stamps.map(|stamps| {
            stamps
                .iter()
                .map(|stamp| (stamp.dts, stamp.duration, stamp.composition_offset))
                .collect::<Vec<_>>()
        });
        assert_eq!(triples, expected.map(<[_]>::to_vec), "{presentation:?}");
    }

    #[test]
    fn decode_times_are_the_presentation_times_in_rising_order() {
        // I P B B in decode order, 10 ticks per frame.
        check(&[0, 30, 10, 20], (0, 40), 20, Ok(&[(0, 10, 20), (10, 10, 40), (20, 10, 10), (30, 10, 10)]));
    }

    #[test]
    fn last_sample_duration_reaches_the_segment_end() {
        check(&[100, 110], (100, 165), 0, Ok(&[(100, 10, 0), (110, 55, 0)]));
    }

    #[test]
    fn frames_skipped_by_edit_take_one_tick() {
        check(&[-20, -10, 0, 10], (0, 20), 0, Ok(&[(0, 1, 0), (1, 1, 0), (2, 8, 0), (10, 10, 0)]));
    }

    #[test]
    fn reference_frame_after_end_is_retained() {
        check(&[0, 30, 10], (0, 20), 20, Ok(&[(0, 10, 20), (10, 9, 29), (19, 1, 11)]));
    }

    #[test]
    fn late_first_frame_is_shown_from_start() {
        check(&[15, 25], (0, 35), 0, Ok(&[(0, 25, 0), (25, 10, 0)]));
    }

    #[test]
    fn equal_times_are_separated_in_decode_order() {
        check(&[0, 10, 10, 10], (0, 20), 0, Ok(&[(0, 10, 0), (10, 1, 0), (11, 1, 0), (12, 8, 0)]));
    }

    #[test]
    fn reordered_frames_are_decoded_before_presentation() {
        check(&[0, 30, 10, 20], (0, 40), 9, Ok(&[(0, 10, 9), (10, 9, 29), (19, 10, 0), (29, 11, 0)]));
        // A pause of 600 ticks between the two, and a shift of 20.
        check(&[0, 620, 10, 20], (0, 640), 20, Ok(&[(0, 10, 20), (10, 10, 630), (20, 20, 10), (40, 600, 0)]));
    }

    #[test]
    fn no_duration_of_a_fine_clock_is_too_short_for_browsers() {
        // Two frames behind a pause are decoded before the frame at its start.
        let expected = [(0, 10_000, 1000), (10_000, 942, 51_000), (10_942, 58, 50_116), (11_000, 59_000, 0)];
        check_in(5_760_000, &[0, 60_000, 60_000, 10_000], (0, 70_000), 1000, Ok(&expected));
        // Frames outside the span.
        check_in(1_000_000, &[-5, 0, 70], (0, 60), 0, Ok(&[(0, 10, 0), (10, 40, 0), (50, 10, 0)]));
        // Shorter ones where they would not fit, and where the shift is too small.
        check_in(1_000_000, &[0, 1, 2], (0, 9), 0, Ok(&[(0, 3, 0), (3, 3, 0), (6, 3, 0)]));
        let expected = [(0, 10, 1), (10, 1, 21), (11, 10, 0), (21, 19, 0)];
        check_in(1_000_000, &[0, 30, 10, 20], (0, 40), 1, Ok(&expected));
    }

    #[test]
    fn too_small_composition_shift_is_rejected() {
        check(&[0, 3, 1, 2], (0, 4), 0, Err(TimingError::ShiftTooSmall { given: 0, needed: 1 }));
        check(&[0, 3, 1, 2], (0, 4), 1, Ok(&[(0, 1, 1), (1, 1, 3), (2, 1, 0), (3, 1, 0)]));
    }

    #[test]
    fn more_frames_than_ticks_are_rejected() {
        check(&[0, 1, 2], (0, 2), 0, Err(TimingError::SpanTooShort { samples: 3, ticks: 2 }));
        check(&[], (0, 2), 0, Err(TimingError::SpanTooShort { samples: 0, ticks: 2 }));
        check(&[0], (5, -5), 0, Err(TimingError::SpanTooShort { samples: 1, ticks: -10 }));
    }

    #[test]
    fn duration_over_32_bits_is_rejected() {
        let end = i64::from(u32::MAX) + 1;
        check(&[0], (0, end), 0, Err(TimingError::TooLong { ticks: end }));
    }

    proptest! {
        #[test]
        fn durations_fill_the_span_and_order_is_preserved(
            presentation in prop::collection::vec(-500..3000_i64, 1..80),
            start in 0..100_i64,
            length in 80..4000_i64,
            shift in 80..4000_i64,
            timescale in 1..10_000_000_u32,
        ) {
            let span = Span { start, end: start + length };
            let stamps = restamp(&presentation, span, shift, timescale).unwrap();

            prop_assert_eq!(stamps[0].dts, span.start);
            let mut decode = span.start;
            for stamp in &stamps {
                prop_assert_eq!(stamp.dts, decode);
                prop_assert!(1 <= stamp.duration);
                prop_assert!(0 <= stamp.composition_offset);
                decode += i64::from(stamp.duration);
            }
            prop_assert_eq!(decode, span.end);

            let shown = |index: usize| stamps[index].dts + i64::from(stamps[index].composition_offset) - shift;
            for (index, time) in presentation.iter().enumerate() {
                prop_assert!(span.start <= shown(index) && shown(index) < span.end);
                for (other, other_time) in presentation.iter().enumerate() {
                    if (time, index) < (other_time, other) {
                        prop_assert!(shown(index) < shown(other));
                    }
                }
            }
        }

        /// A pyramid of B-frames decodes a frame at most two positions later than its presentation order.
        /// The encoder settings of Kinora produce this.
        #[test]
        fn reordering_by_two_frames_needs_a_two_tick_shift(
            steps in prop::collection::vec((1..2000_i64, 0..=3_usize), 1..80),
            start in 0..100_i64,
            shift in 2..500_i64,
            timescale in 1..10_000_000_u32,
        ) {
            let mut at = start;
            let times: Vec<i64> = steps.iter().map(|(step, _)| { at += step; at }).collect();
            let mut decoded: Vec<usize> = (0..times.len()).collect();
            decoded.sort_by_key(|rank| rank + steps[*rank].1);
            let presentation: Vec<i64> = decoded.iter().map(|rank| times[*rank]).collect();
            // The keyframe is decoded first and shown first.
            prop_assume!(decoded[0] == 0);
            let stamps = restamp(&presentation, Span { start, end: at + 1 }, shift, timescale);
            prop_assert!(stamps.is_ok(), "{:?} of {:?}", stamps, presentation);
        }

        #[test]
        fn arbitrary_times_never_panic(
            presentation in prop::collection::vec(any::<i64>(), 0..20),
            start: i64,
            end: i64,
            shift: i64,
            timescale: u32,
        ) {
            if let Ok(stamps) = restamp(&presentation, Span { start, end }, shift, timescale) {
                prop_assert_eq!(stamps.len(), presentation.len());
            }
        }
    }
}
