//! Rounds fractions of time to whole numbers.

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: i128 = 1_000_000_000;

/// Duration of `samples` in nanoseconds; `rate` is in Hz.
pub(crate) fn samples_ns(samples: i64, rate: u32) -> i128 {
    div_rounded(i128::from(samples) * SECOND_NS, rate.max(1).into())
}

/// The quotient as the nearest integer, halves up. `divisor` is positive.
pub(crate) fn div_rounded(dividend: i128, divisor: i128) -> i128 {
    let (number, unit) = (2 * dividend + divisor, 2 * divisor);
    match (i64::try_from(number), i64::try_from(unit)) {
        // The usual case, and many times as fast: it runs several times per frame.
        (Ok(number), Ok(unit)) => number.div_euclid(unit).into(),
        _ => number.div_euclid(unit),
    }
}
