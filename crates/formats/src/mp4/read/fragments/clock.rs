//! From the decode times that fragments name to times that are small enough to reckon with.
//!
//! Recorders of live streams count from the start of the stream, from 1970 or from 1601, often in units of 100 ns. Only differences
//! count for us, so all tracks together lose the same whole seconds, which are whole ticks of every track.

use super::super::super::error::ReadError;

/// Ticks beyond which a time is damage. At 100 ns, the finest unit there is, that is 28 years from the base.
/// Keeps the arithmetic of the timeline in range.
const TICKS_MAX: i64 = 1 << 53;
/// How long before the first fragment the base lies: a track may begin before the one that came first.
const MARGIN_S: u64 = 24 * 3600;

/// What is taken off all times.
#[derive(Debug)]
pub(super) struct Clock {
    base_s: Option<u64>,
    margin_s: u64,
}

impl Clock {
    /// A clock whose base the first time decides. No time that an edit list skips, up to `skipped_s` seconds, falls before the base.
    pub(super) fn new(skipped_s: i64) -> Self {
        Clock { base_s: None, margin_s: MARGIN_S + skipped_s.unsigned_abs() + 1 }
    }

    /// A clock that takes nothing off: samples in the `moov` have begun at 0.
    pub(super) fn begun() -> Self {
        Clock { base_s: Some(0), margin_s: 0 }
    }

    /// A decode time in ticks from the base.
    ///
    /// Errors: `Unsupported` when it is out of reach.
    pub(super) fn ticks(&mut self, time: u64, timescale: u32) -> Result<i64, ReadError> {
        let seconds = time / u64::from(timescale);
        let base_s = *self.base_s.get_or_insert(seconds.saturating_sub(self.margin_s));
        let ticks = i128::from(time) - i128::from(base_s) * i128::from(timescale);
        i64::try_from(ticks).ok().filter(|ticks| (0..=TICKS_MAX).contains(ticks)).ok_or_else(out_of_reach)
    }
}

/// A time so many ticks later. Errors: as [`Clock::ticks`].
pub(super) fn later(ticks: i64, duration: u32) -> Result<i64, ReadError> {
    Some(ticks + i64::from(duration)).filter(|ticks| *ticks <= TICKS_MAX).ok_or_else(out_of_reach)
}

fn out_of_reach() -> ReadError {
    ReadError::unsupported("the times of its fragments lie too far apart")
}
