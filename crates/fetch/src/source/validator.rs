//! Which bytes of two answers belong together.

use std::time::Duration;

use jiff::SignedDuration;
use reqwest::header::{DATE, ETAG, HeaderMap, LAST_MODIFIED};

use super::text;
use crate::retry_after::http_date;

/// Longest validator kept, in bytes. Real ones have some dozen; a longer one would only be sent back and
/// forth.
const VALIDATOR_BYTES_MAX: usize = 1024;

/// How much older than the answer a source must be for its date to be a strong validator.
///
/// RFC 9110, 8.8.2.2 asks for a second between two readings of one clock, and for more where the clocks may
/// differ, as behind a cache or a balancer. 60 s is what its forerunner named (RFC 7232, 2.2.2).
const LAST_MODIFIED_AGE_MIN: Duration = Duration::from_secs(60);

/// A strong ETag or a strong modification date: as long as it is the same, so is every byte of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrongValidator(String);

impl StrongValidator {
    /// The text as it was sent, and as it is sent in `If-Range`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The strong validator of an answer, if it has one.
    ///
    /// An answer with a weak ETag has none, whatever its date: `If-Range` must not carry a date then (RFC
    /// 9110, 13.1.5).
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let found = match text(headers, &ETAG) {
            Some(etag) => is_strong_etag(&etag).then_some(etag),
            None => strong_last_modified(headers),
        };
        found.filter(|text| text.len() <= VALIDATOR_BYTES_MAX).map(Self)
    }

    /// Whether an answer contradicts this validator. One that names none does not: a partial answer may leave
    /// it out.
    pub(super) fn is_contradicted_by(&self, headers: &HeaderMap) -> bool {
        let name = if self.0.starts_with('"') { ETAG } else { LAST_MODIFIED };
        text(headers, &name).is_some_and(|found| found != self.0)
    }
}

/// RFC 9110, 8.8.3: quoted, and without the `W/` of a weak one.
fn is_strong_etag(text: &str) -> bool {
    2 <= text.len() && text.starts_with('"') && text.ends_with('"') && text.is_ascii()
}

fn strong_last_modified(headers: &HeaderMap) -> Option<String> {
    let modified = text(headers, &LAST_MODIFIED)?;
    let age = http_date(&text(headers, &DATE)?)?.duration_since(http_date(&modified)?);
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
    fn a_strong_etag_is_taken_before_a_date() {
        check(&[("etag", "\"a\"")], Some("\"a\""));
        check(&[("etag", "\"\"")], Some("\"\""));
        check(&[("etag", "\"a\""), DATE, MINUTE_AGO], Some("\"a\""));
    }

    #[test]
    fn a_date_is_strong_when_it_is_older_than_the_answer_by_a_minute() {
        check(&[DATE, MINUTE_AGO], Some(MINUTE_AGO.1));
        check(&[DATE, JUST_NOW], None);
        check(&[MINUTE_AGO], None);
        check(&[DATE, ("last-modified", "yesterday")], None);
        check(&[("date", "today"), MINUTE_AGO], None);
    }

    #[test]
    fn a_weak_or_malformed_etag_leaves_no_validator() {
        check(&[], None);
        check(&[("etag", "W/\"a\"")], None);
        check(&[("etag", "W/\"a\""), DATE, MINUTE_AGO], None);
        check(&[("etag", "a")], None);
        check(&[("etag", "\"")], None);
        let long: &'static str = format!("\"{}\"", "a".repeat(VALIDATOR_BYTES_MAX)).leak();
        check(&[("etag", long)], None);
    }

    #[test]
    fn only_another_value_of_the_same_kind_contradicts() {
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
