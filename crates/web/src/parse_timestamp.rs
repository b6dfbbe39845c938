//! Parses instants in the form that clients send.

use jiff::civil::{Date, Time};
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;
use kinora_domain::Timestamp;

/// An instant (RFC 3339). Fractions beyond microseconds are cut off.
///
/// An instant beyond the range becomes the last one that can be stored. Many clients write
/// 9999-12-31T23:59:59Z for never, and their request must not fail for that.
pub fn parse_instant(text: &str) -> Option<Timestamp> {
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp::from_micros(instant.as_microsecond()));
    }
    let pieces = Pieces::parse(text).ok()?;
    timestamp_at(pieces.date(), pieces.time()?, pieces.to_numeric_offset()?)
}

/// The same, or a day, which begins at midnight UTC.
pub fn parse_instant_or_day(text: &str) -> Option<Timestamp> {
    if text.len() == "2025-11-03".len() {
        timestamp_at(text.parse().ok()?, Time::midnight(), Offset::UTC)
    } else {
        parse_instant(text)
    }
}

fn timestamp_at(date: Date, time: Time, offset: Offset) -> Option<Timestamp> {
    match offset.to_timestamp(date.to_datetime(time)) {
        Ok(instant) => Some(Timestamp::from_micros(instant.as_microsecond())),
        Err(_) => (date.year() > 0).then(|| Timestamp::from_micros(i64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_past_year_9999_is_clamped() {
        let last = Some(Timestamp::from_micros(i64::MAX));
        for late in [
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59.999999999Z",
            "9999-12-31T23:59:59+01:00",
            "9999-12-30T22:00:00.9Z",
            "9999-12-31 23:59:59Z",
        ] {
            assert_eq!((parse_instant(late), parse_instant_or_day(late)), (last, last), "{late}");
        }
        assert_eq!((parse_instant("9999-12-31"), parse_instant_or_day("9999-12-31")), (None, last));
        let before = parse_instant("9999-12-30T21:59:59Z");
        assert!(before.is_some() && before < last);
        for none in [
            "9999-12-31T23:59:59",
            "9999-13-31T23:59:59Z",
            "10000-01-01T00:00:00Z",
            "-009999-01-01T00:00:00Z",
        ] {
            assert_eq!((parse_instant(none), parse_instant_or_day(none)), (None, None), "{none}");
        }
    }

    #[test]
    fn day_begins_at_midnight_utc() {
        let midnight = Some(Timestamp::from_micros(1_762_128_000_000_000));
        assert_eq!(parse_instant_or_day("2025-11-03"), midnight);
        assert_eq!(parse_instant("2025-11-03T01:00:00.0000009+01:00"), midnight);
        for none in ["2025-11-31", "2025-11-3", "03.11.2025", "", "2025-11-03T"] {
            assert_eq!(parse_instant_or_day(none), None, "{none}");
        }
    }
}
