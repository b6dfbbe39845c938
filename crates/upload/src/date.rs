//! Instants in the format of HTTP.

use axum::http::HeaderValue;
use jiff::fmt::rfc2822::DateTimePrinter;
use kinora_domain::Timestamp;

/// `Mon, 03 Nov 2025 10:03:48 GMT` (RFC 9110, 5.6.7), rounded down to the second.
pub(super) fn http_date(instant: Timestamp) -> HeaderValue {
    let written = jiff::Timestamp::from_second(instant.as_seconds())
        .and_then(|instant| DateTimePrinter::new().timestamp_to_rfc9110_string(&instant));
    // Only years before 0 cannot be written so.
    let text = written.unwrap_or_else(|_| "Thu, 01 Jan 1970 00:00:00 GMT".to_owned());
    HeaderValue::from_str(&text).expect("letters, digits and spaces")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_formats_as_http_date() {
        let check = |micros: i64, text: &str| assert_eq!(http_date(Timestamp::from_micros(micros)), text);
        check(1_762_164_228_595_604, "Mon, 03 Nov 2025 10:03:48 GMT");
        check(0, "Thu, 01 Jan 1970 00:00:00 GMT");
        check(784_111_777_000_000, "Sun, 06 Nov 1994 08:49:37 GMT"); // the example of the RFC
    }
}
