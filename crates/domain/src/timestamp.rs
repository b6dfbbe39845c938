//! Instants.

use std::fmt;

/// An instant in UTC, with microsecond precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Microseconds in one second.
    pub const SECOND: i64 = 1_000_000;

    /// From microseconds since 1970-01-01T00:00:00Z.
    ///
    /// Clamps to the years -9999 to 9999, so that every instant can be formatted.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(
            jiff::Timestamp::MIN.as_second() * Self::SECOND,
            jiff::Timestamp::MAX.as_second() * Self::SECOND,
        ))
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
    pub fn as_seconds(self) -> i64 {
        self.0.div_euclid(Self::SECOND)
    }

    /// This instant plus `micros` microseconds, clamped as in [`Timestamp::from_micros`].
    pub fn plus_micros(self, micros: i64) -> Self {
        Self::from_micros(self.0.saturating_add(micros))
    }

    /// This instant plus `seconds` seconds, clamped as in [`Timestamp::from_micros`].
    pub fn plus_seconds(self, seconds: i64) -> Self {
        self.plus_micros(seconds.saturating_mul(Self::SECOND))
    }

    /// Microseconds from `earlier` to this instant; negative if `earlier` is later.
    pub fn micros_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// ISO 8601 with `Z` and always six digits, `2025-11-03T10:03:48.595604Z` (C-116).
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant =
            jiff::Timestamp::from_microsecond(self.0).expect("the constructor clamps to jiff's range");
        write!(f, "{instant:.6}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_text_has_microseconds_and_z() {
        let check = |micros: i64, text: &str| assert_eq!(Timestamp::from_micros(micros).to_string(), text);
        check(0, "1970-01-01T00:00:00.000000Z");
        check(1_762_164_228_595_604, "2025-11-03T10:03:48.595604Z");
        check(-1, "1969-12-31T23:59:59.999999Z");
        check(i64::MAX, "9999-12-30T22:00:00.000000Z");
    }
}
