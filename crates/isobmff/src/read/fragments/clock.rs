//! From the decode times that fragments name to times that are small enough to reckon with.
//!
//! Recorders of live streams count from the start of the stream, from 1970 or from 1601, often in units of
//! 100 ns. Only differences count for us, so all tracks together lose the same whole seconds, which are whole
//! ticks of every track.

use serde::{Deserialize, Serialize};

use super::super::super::error::ReadError;

/// Ticks beyond which a time is damage. At 100 ns, the finest unit there is, that is 28 years from the base.
/// Keeps the arithmetic of the timeline in range.
const TICKS_MAX: i64 = 1 << 53;
/// How long before the first fragment the base lies: a track may begin before the one that came first.
const MARGIN_S: u64 = 24 * 3600;

/// How large a [`Fraction`] gets.
const FRACTION_TICKS_MAX: i128 = 1 << 90;
const FRACTION_PER_MAX: i128 = 1 << 48;

/// What is taken off all times, and added to them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Clock {
    base_s: Option<u64>,
    margin_s: u64,
    /// How much later everything lies since times began again, in seconds.
    later: Fraction,
}

/// An instant or a length in seconds, exactly.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Fraction {
    /// Below [`FRACTION_TICKS_MAX`]; of a single time below 2^66.
    ticks: i128,
    /// Positive, below [`FRACTION_PER_MAX`]; of a single time below 2^24, the most ticks a second that are
    /// read.
    per: i128,
}

impl Fraction {
    /// A single time.
    pub(super) fn new(ticks: i128, timescale: u32) -> Self {
        Fraction { ticks, per: timescale.into() }
    }

    /// The later of two single times.
    pub(super) fn max(self, other: Self) -> Self {
        if self.ticks * other.per < other.ticks * self.per { other } else { self }
    }

    /// The earlier of two single times.
    pub(super) fn min(self, other: Self) -> Self {
        if other.ticks * self.per < self.ticks * other.per { other } else { self }
    }

    /// In ticks, rounded up.
    fn ticks(self, timescale: u32) -> i128 {
        let ticks = self.ticks * i128::from(timescale);
        ticks.div_euclid(self.per) + i128::from(ticks.rem_euclid(self.per) != 0)
    }
}

impl Clock {
    /// A clock whose base the first time decides. No time that an edit list skips, up to `skipped_s` seconds,
    /// falls before the base.
    pub(super) fn new(skipped_s: i64) -> Self {
        let margin_s = MARGIN_S + skipped_s.unsigned_abs() + 1;
        Clock { base_s: None, margin_s, later: Fraction { ticks: 0, per: 1 } }
    }

    /// A clock that takes nothing off: samples in the `moov` have begun at 0.
    pub(super) fn begun() -> Self {
        Clock { base_s: Some(0), ..Clock::new(0) }
    }

    /// Whether what came back from a checkpoint can be reckoned with.
    pub(super) fn is_sound(&self) -> bool {
        let Fraction { ticks, per } = self.later;
        ticks.unsigned_abs() < FRACTION_TICKS_MAX.unsigned_abs() && (1..FRACTION_PER_MAX).contains(&per)
    }

    /// A decode time in ticks from the base.
    ///
    /// Errors: `Unsupported` when it is out of reach.
    pub(super) fn ticks(&mut self, time: u64, timescale: u32) -> Result<i64, ReadError> {
        self.base_s.get_or_insert((time / u64::from(timescale)).saturating_sub(self.margin_s));
        let ticks = self.raw(time, timescale) + self.later.ticks(timescale);
        i64::try_from(ticks).ok().filter(|ticks| (0..=TICKS_MAX).contains(ticks)).ok_or_else(out_of_reach)
    }

    /// Whether a decode time lies before a time in ticks from the base.
    pub(super) fn is_before(&self, time: u64, timescale: u32, ticks: i64) -> bool {
        self.raw(time, timescale) + self.later.ticks(timescale) < i128::from(ticks)
    }

    /// A decode time as it is written.
    pub(super) fn written(&self, time: u64, timescale: u32) -> Fraction {
        Fraction::new(self.raw(time, timescale), timescale)
    }

    /// Moves what comes from now on so that the time written as `begin` is `end`.
    pub(super) fn begin_again(&mut self, begin: Fraction, end: Fraction) {
        self.later =
            Fraction { ticks: end.ticks * begin.per - begin.ticks * end.per, per: begin.per * end.per };
    }

    fn raw(&self, time: u64, timescale: u32) -> i128 {
        i128::from(time) - i128::from(self.base_s.unwrap_or(0)) * i128::from(timescale)
    }
}

/// A time so many ticks later. Errors: as [`Clock::ticks`].
pub(super) fn later(ticks: i64, duration: u32) -> Result<i64, ReadError> {
    Some(ticks + i64::from(duration)).filter(|ticks| *ticks <= TICKS_MAX).ok_or_else(out_of_reach)
}

fn out_of_reach() -> ReadError {
    ReadError::unsupported("the times of its fragments lie too far apart")
}
