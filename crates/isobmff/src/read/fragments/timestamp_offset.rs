//! Converts the decode times of fragments to times that are small enough for arithmetic.
//!
//! Recorders of live streams count from the start of the stream, from 1970 or from 1601, often in units of
//! 100 ns. Only differences matter, so the same whole seconds are subtracted from all tracks. Whole seconds
//! are whole ticks of every track.

use serde::{Deserialize, Serialize};

use super::super::super::error::ReadError;

/// Ticks beyond which a time is damage. At 100 ns, the finest unit in use, that is 28 years from the base.
/// Limits the arithmetic of the timeline to its range.
const TICKS_MAX: i64 = 1 << 53;
/// Distance of the base before the first fragment: another track may begin before the one that came first.
const MARGIN_S: u64 = 24 * 3600;

/// Limits of [`ExactSeconds`].
const EXACT_TICKS_MAX: i128 = 1 << 90;
const EXACT_TIMESCALE_MAX: i128 = 1 << 48;

/// The offsets that are subtracted from all times, and added to them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TimestampOffset {
    base_s: Option<u64>,
    margin_s: u64,
    /// Total shift in seconds since the times restarted.
    restart_shift: ExactSeconds,
}

/// An instant or a length in seconds, exactly.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct ExactSeconds {
    /// Below [`EXACT_TICKS_MAX`]; below 2^66 for a single time.
    ticks: i128,
    /// Positive, below [`EXACT_TIMESCALE_MAX`]; below 2^24 for a single time, the highest timescale that is
    /// accepted.
    timescale: i128,
}

impl ExactSeconds {
    /// A single time.
    pub(super) fn new(ticks: i128, timescale: u32) -> Self {
        ExactSeconds { ticks, timescale: timescale.into() }
    }

    /// The later of two single times.
    pub(super) fn max(self, other: Self) -> Self {
        if self.ticks * other.timescale < other.ticks * self.timescale { other } else { self }
    }

    /// The earlier of two single times.
    pub(super) fn min(self, other: Self) -> Self {
        if other.ticks * self.timescale < self.ticks * other.timescale { other } else { self }
    }

    /// In ticks, rounded up.
    fn ticks(self, timescale: u32) -> i128 {
        let ticks = self.ticks * i128::from(timescale);
        ticks.div_euclid(self.timescale) + i128::from(ticks.rem_euclid(self.timescale) != 0)
    }
}

impl TimestampOffset {
    /// An offset whose base the first time sets. A time that an edit list skips, up to `skipped_s` seconds,
    /// does not fall before the base.
    pub(super) fn new(skipped_s: i64) -> Self {
        let margin_s = MARGIN_S + skipped_s.unsigned_abs() + 1;
        TimestampOffset { base_s: None, margin_s, restart_shift: ExactSeconds { ticks: 0, timescale: 1 } }
    }

    /// An offset that subtracts nothing: the samples in the `moov` begin at 0.
    pub(super) fn with_zero_base() -> Self {
        TimestampOffset { base_s: Some(0), ..TimestampOffset::new(0) }
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(super) fn is_valid(&self) -> bool {
        let ExactSeconds { ticks, timescale } = self.restart_shift;
        ticks.unsigned_abs() < EXACT_TICKS_MAX.unsigned_abs() && (1..EXACT_TIMESCALE_MAX).contains(&timescale)
    }

    /// Converts a decode time to ticks from the base, with the shift of all restarts.
    ///
    /// Errors: `Unsupported` if it is out of range.
    pub(super) fn ticks(&mut self, time: u64, timescale: u32) -> Result<i64, ReadError> {
        self.base_s.get_or_insert((time / u64::from(timescale)).saturating_sub(self.margin_s));
        let ticks = self.ticks_since_base(time, timescale) + self.restart_shift.ticks(timescale);
        i64::try_from(ticks).ok().filter(|ticks| (0..=TICKS_MAX).contains(ticks)).ok_or_else(out_of_reach)
    }

    /// Whether a decode time is before a time in ticks from the base.
    pub(super) fn is_before(&self, time: u64, timescale: u32, ticks: i64) -> bool {
        self.ticks_since_base(time, timescale) + self.restart_shift.ticks(timescale) < i128::from(ticks)
    }

    /// A decode time from the base, without the shift of restarts.
    pub(super) fn since_base(&self, time: u64, timescale: u32) -> ExactSeconds {
        ExactSeconds::new(self.ticks_since_base(time, timescale), timescale)
    }

    /// Shifts all later times so that `begin`, a time of [`TimestampOffset::since_base`], becomes `end`.
    pub(super) fn restart(&mut self, begin: ExactSeconds, end: ExactSeconds) {
        self.restart_shift = ExactSeconds {
            ticks: end.ticks * begin.timescale - begin.ticks * end.timescale,
            timescale: begin.timescale * end.timescale,
        };
    }

    fn ticks_since_base(&self, time: u64, timescale: u32) -> i128 {
        i128::from(time) - i128::from(self.base_s.unwrap_or(0)) * i128::from(timescale)
    }
}

/// A time that is `duration` ticks later. Errors: as [`TimestampOffset::ticks`].
pub(super) fn add_duration(ticks: i64, duration: u32) -> Result<i64, ReadError> {
    Some(ticks + i64::from(duration)).filter(|ticks| *ticks <= TICKS_MAX).ok_or_else(out_of_reach)
}

fn out_of_reach() -> ReadError {
    ReadError::unsupported("the times of its fragments lie too far apart")
}
