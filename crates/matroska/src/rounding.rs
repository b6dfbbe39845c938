//! Rounds fractions of time to whole numbers.

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: i128 = 1_000_000_000;

/// Duration of `samples` in nanoseconds; `rate` is in Hz.
pub(crate) fn samples_ns(samples: i64, rate: u32) -> i128 {
    nearest(i128::from(samples) * SECOND_NS, rate.max(1).into())
}

/// The nearest integer, halves up. `unit` is positive.
pub(crate) fn nearest(number: i128, unit: i128) -> i128 {
    let (number, unit) = (2 * number + unit, 2 * unit);
    match (i64::try_from(number), i64::try_from(unit)) {
        // The usual case, and many times as fast: it runs several times per frame.
        (Ok(number), Ok(unit)) => number.div_euclid(unit).into(),
        _ => number.div_euclid(unit),
    }
}
