//! Parses the delay that a server requests.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// Parses `Retry-After` (RFC 9110, 10.2.3): seconds, or a date.
///
/// A date is compared with the server's own `Date`: both come from the same clock, and this crate reads
/// none. `None` for an invalid value, and for a date in the past.
pub(crate) fn parse(retry_after: &str, date: Option<&str>) -> Option<Duration> {
    let text = retry_after.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit is a very long delay; callers cap it.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let wait = http_date(text)?.duration_since(http_date(date?)?);
    Duration::try_from(wait).ok()
}

/// Parses an HTTP date in the only form that servers may write (RFC 9110, 5.6.7).
pub(crate) fn http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn check(retry_after: &str, date: Option<&str>, expected: Option<u64>) {
        assert_eq!(parse(retry_after, date), expected.map(Duration::from_secs), "{retry_after} at {date:?}");
    }

    #[test]
    fn seconds_and_dates_are_read() {
        check("0", None, Some(0));
        check(" 120 ", None, Some(120));
        check("Sun, 06 Nov 1994 08:51:37 GMT", Some(DATE), Some(120));
        check("99999999999999999999999", None, Some(u64::MAX));
    }

    #[test]
    fn malformed_retry_after_is_ignored() {
        check("", None, None);
        check("-5", None, None);
        check("1.5", None, None);
        check("soon", Some(DATE), None);
        check("Sun, 06 Nov 1994 08:51:37 GMT", None, None);
        check("Sun, 06 Nov 1994 08:51:37 GMT", Some("now"), None);
        check("Sun, 06 Nov 1994 08:49:36 GMT", Some(DATE), None);
    }
}
