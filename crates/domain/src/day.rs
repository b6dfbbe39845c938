//! Calendar days.

use std::fmt;

use crate::Timestamp;

/// A day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(jiff::civil::Date);

impl Day {
    /// Parses `2025-11-03`, and no other form (RFC 3339, `full-date`). `None` if the text is not a valid
    /// day.
    pub fn from_text(text: &str) -> Option<Self> {
        let day = Self(text.parse().ok()?);
        // The parser accepts more forms, and years before 1.
        (0 < day.0.year() && day.to_string() == text).then_some(day)
    }

    /// The day that contains an instant.
    pub fn of(at: Timestamp) -> Self {
        let at = jiff::Timestamp::from_microsecond(at.as_micros())
            .expect("the constructor clamps to jiff's range");
        Self(at.to_zoned(jiff::tz::TimeZone::UTC).date())
    }

    /// The next day; `None` after the last day of the year 9999.
    pub fn next(self) -> Option<Self> {
        self.0.tomorrow().ok().map(Self)
    }

    /// The first day of its month.
    pub fn first_of_month(self) -> Self {
        Self(self.0.first_of_month())
    }

    /// The number of days from this one to `last`, both included: 1 for the same day, 0 if `last` is
    /// earlier.
    pub fn days_through(self, last: Self) -> u32 {
        u32::try_from((last.0 - self.0).get_days() + 1).unwrap_or(0)
    }

    /// Its first instant.
    pub fn start(self) -> Timestamp {
        let midnight = self.0.to_zoned(jiff::tz::TimeZone::UTC);
        let micros = midnight.map(|midnight| midnight.timestamp().as_microsecond());
        // Only the last days of the year 9999 have no such instant.
        Timestamp::from_micros(micros.unwrap_or(i64::MAX))
    }

    /// The first instant after it.
    pub fn end(self) -> Timestamp {
        self.next().map_or(Timestamp::from_micros(i64::MAX), Self::start)
    }
}

/// `2025-11-03`
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_parses_only_canonical_form() {
        for text in ["2025-11-03", "2024-02-29", "0001-01-01", "9999-12-31"] {
            assert_eq!(Day::from_text(text).map(|day| day.to_string()).as_deref(), Some(text));
        }
        for none in [
            "",
            "2025-11-3",
            "2025-02-29",
            "2025-13-01",
            "20251103",
            "2025-11-03T00:00:00Z",
            " 2025-11-03",
            "2025-11-03 ",
            "+002025-11-03",
            "-000001-01-01",
            "03.11.2025",
        ] {
            assert_eq!(Day::from_text(none), None, "{none}");
        }
    }

    #[test]
    fn day_spans_midnight_to_midnight_utc() {
        let day = Day::from_text("2025-11-03").unwrap();
        assert_eq!(day.start().to_string(), "2025-11-03T00:00:00.000000Z");
        assert_eq!(day.end().to_string(), "2025-11-04T00:00:00.000000Z");
        let last = Day::from_text("9999-12-31").unwrap();
        assert!(last.start() <= last.end());
    }

    #[test]
    fn timestamp_belongs_to_exactly_one_day() {
        let day = Day::from_text("2025-11-03").unwrap();
        assert_eq!(Day::of(day.start()), day);
        assert_eq!(Day::of(day.end().plus_micros(-1)), day);
        assert_eq!(Some(Day::of(day.end())), day.next());
        assert_eq!(Day::of(Timestamp::from_micros(-1)).to_string(), "1969-12-31");
        assert_eq!(Day::from_text("9999-12-31").unwrap().next(), None);
    }

    #[test]
    fn days_through_includes_both_ends() {
        let check = |first: &str, last: &str, days| {
            let (first, last) = (Day::from_text(first).unwrap(), Day::from_text(last).unwrap());
            assert_eq!(first.days_through(last), days, "{first} {last}");
        };
        check("2025-11-03", "2025-11-03", 1);
        check("2025-11-03", "2025-11-02", 0);
        check("2025-11-03", "2024-11-02", 0);
        check("2024-01-01", "2024-12-31", 366);
        check("0001-01-01", "9999-12-31", 3_652_059);
        assert_eq!(Day::from_text("2024-02-29").unwrap().first_of_month().to_string(), "2024-02-01");
    }
}
