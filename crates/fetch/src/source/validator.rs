//! Strong validators: whether the bytes of two responses belong to the same source.

use std::time::Duration;

use jiff::SignedDuration;
use reqwest::header::{DATE, ETAG, HeaderMap, LAST_MODIFIED};

use super::header_text;
use crate::retry_after::http_date;

/// Longest stored validator in bytes. Real ones have some dozen; a longer one would only waste bandwidth.
const VALIDATOR_BYTES_MAX: usize = 1024;

/// Minimum age of a source, relative to its response, for its date to be a strong validator.
///
/// RFC 9110, 8.8.2.2 requires a second between two readings of one clock, and more where the clocks may
/// differ, for example with a cache or a load balancer. 60 s comes from its predecessor (RFC 7232, 2.2.2).
const LAST_MODIFIED_AGE_MIN: Duration = Duration::from_secs(60);

/// A strong ETag or a strong modification date: while it is equal, every byte of the source is equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrongValidator(String);

impl StrongValidator {
    /// The text as received, and as sent in `If-Range`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The strong validator of a response, if it has one.
    ///
    /// A response with a weak ETag has none, with any date: `If-Range` must not contain a date then (RFC
    /// 9110, 13.1.5).
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let found = match header_text(headers, &ETAG) {
            Some(etag) => is_strong_etag(&etag).then_some(etag),
            None => strong_last_modified(headers),
        };
        found.filter(|text| text.len() <= VALIDATOR_BYTES_MAX).map(Self)
    }

    /// Whether a response contradicts this validator. One without a validator does not: a partial response
    /// may omit it.
    pub(super) fn is_contradicted_by(&self, headers: &HeaderMap) -> bool {
        let name = if self.0.starts_with('"') { ETAG } else { LAST_MODIFIED };
        header_text(headers, &name).is_some_and(|found| found != self.0)
    }
}

/// RFC 9110, 8.8.3: quoted, and without the `W/` of a weak one.
fn is_strong_etag(text: &str) -> bool {
    2 <= text.len() && text.starts_with('"') && text.ends_with('"') && text.is_ascii()
}

fn strong_last_modified(headers: &HeaderMap) -> Option<String> {
    let modified = header_text(headers, &LAST_MODIFIED)?;
    let age = http_date(&header_text(headers, &DATE)?)?.duration_since(http_date(&modified)?);
    (SignedDuration::try_from(LAST_MODIFIED_AGE_MIN).ok()? <= age).then_some(modified)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn check(fields: &[(&'static str, &'static str)], expected: Option<&str>) {
        let found = StrongValidator::of(&headers(fields));
        assert_eq!(found.as_ref().map(StrongValidator::as_str), expected, "{fields:?}");
    }

    const DATE: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    const MINUTE_AGO: (&str, &str) = ("last-modified", "Sun, 06 Nov 1994 08:48:37 GMT");
    const JUST_NOW: (&str, &str) = ("last-modified", "Sun, 06 Nov 1994 08:48:38 GMT");

    #[test]
    fn strong_etag_precedes_last_modified() {
        check(&[("etag", "\"a\"")], Some("\"a\""));
        check(&[("etag", "\"\"")], Some("\"\""));
        check(&[("etag", "\"a\""), DATE, MINUTE_AGO], Some("\"a\""));
    }

    #[test]
    fn last_modified_is_strong_one_minute_before_date() {
        check(&[DATE, MINUTE_AGO], Some(MINUTE_AGO.1));
        check(&[DATE, JUST_NOW], None);
        check(&[MINUTE_AGO], None);
        check(&[DATE, ("last-modified", "yesterday")], None);
        check(&[("date", "today"), MINUTE_AGO], None);
    }

    #[test]
    fn weak_or_malformed_etag_gives_no_validator() {
        check(&[], None);
        check(&[("etag", "W/\"a\"")], None);
        check(&[("etag", "W/\"a\""), DATE, MINUTE_AGO], None);
        check(&[("etag", "a")], None);
        check(&[("etag", "\"")], None);
        let long: &'static str = format!("\"{}\"", "a".repeat(VALIDATOR_BYTES_MAX)).leak();
        check(&[("etag", long)], None);
    }

    #[test]
    fn only_a_different_validator_of_same_kind_contradicts() {
        let etag = StrongValidator("\"a\"".into());
        assert!(!etag.is_contradicted_by(&headers(&[("etag", "\"a\"")])));
        assert!(!etag.is_contradicted_by(&headers(&[MINUTE_AGO])));
        assert!(etag.is_contradicted_by(&headers(&[("etag", "\"b\"")])));
        assert!(etag.is_contradicted_by(&headers(&[("etag", "W/\"a\"")])));
        let date = StrongValidator(MINUTE_AGO.1.into());
        assert!(!date.is_contradicted_by(&headers(&[("etag", "\"a\"")])));
        assert!(date.is_contradicted_by(&headers(&[JUST_NOW])));
    }
}
