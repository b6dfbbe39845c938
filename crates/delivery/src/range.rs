//! The `Range` header of a request (RFC 9110, 14; D-0126).

use std::ops::Range;

use axum::http::{HeaderMap, header};

/// The requested range.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestedRange {
    /// All bytes.
    Whole,
    /// These bytes, at least one.
    Part(Range<u64>),
    /// Bytes past the end: 416.
    Unsatisfiable,
}

impl RequestedRange {
    /// Parses the range of a representation of `len` bytes. Several ranges, other units and malformed values
    /// select the whole (RFC 9110, 14.2).
    pub(super) fn of(request: &HeaderMap, len: u64) -> Self {
        let text = request.get(header::RANGE).and_then(|value| value.to_str().ok());
        let Some((unit, spec)) = text.and_then(|text| text.trim().split_once('=')) else {
            return Self::Whole;
        };
        // RFC 9110, 14.1: names of units are case-insensitive.
        if !unit.eq_ignore_ascii_case("bytes") {
            return Self::Whole;
        }
        let Some((first, last)) = spec.trim().split_once('-') else { return Self::Whole };
        match (first, last) {
            ("", last) => number(last).map_or(Self::Whole, |suffix| Self::suffix(suffix, len)),
            (first, "") => number(first).map_or(Self::Whole, |first| Self::between(first, len, len)),
            (first, last) => match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => {
                    Self::between(first, last.saturating_add(1), len)
                }
                _ => Self::Whole,
            },
        }
    }

    /// The last bytes. A suffix longer than the representation selects all of it (RFC 9110, 14.1.2).
    fn suffix(suffix: u64, len: u64) -> Self {
        if suffix == 0 || len == 0 {
            Self::Unsatisfiable
        } else {
            Self::Part(len.saturating_sub(suffix)..len)
        }
    }

    fn between(start: u64, end: u64, len: u64) -> Self {
        if start < len { Self::Part(start..end.min(len)) } else { Self::Unsatisfiable }
    }
}

/// Parses digits only. A number beyond 64 bits is past any end.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;
    use RequestedRange::{Part, Unsatisfiable, Whole};

    #[test]
    fn single_range_is_partial_other_forms_are_whole() {
        let check = |value, expected| {
            let headers = HeaderMap::from_iter([(header::RANGE, HeaderValue::from_static(value))]);
            assert_eq!(RequestedRange::of(&headers, 100), expected, "{value}");
        };
        check("bytes=0-0", Part(0..1));
        check("BYTES=0-1", Part(0..2));
        check("Bytes=-10", Part(90..100));
        check("bytes=10-19", Part(10..20));
        check("bytes=90-", Part(90..100));
        check("bytes=90-1000", Part(90..100));
        check("bytes=90-99999999999999999999999", Part(90..100));
        check("bytes=-10", Part(90..100));
        check("bytes=-1000", Part(0..100));
        check("bytes=100-", Unsatisfiable);
        check("bytes=100-200", Unsatisfiable);
        check("bytes=-0", Unsatisfiable);
        check("bytes=99999999999999999999999-", Unsatisfiable);
        check("bytes=20-10", Whole);
        check("bytes=0-1,5-6", Whole);
        check("bytes=-", Whole);
        check("bytes=a-b", Whole);
        check("bytes=1-b", Whole);
        check("bytes=b-1", Whole);
        check("items=0-1", Whole);
        check("bytes 0-1", Whole);
        check("bytes =0-1", Whole);
        assert_eq!(RequestedRange::of(&HeaderMap::new(), 100), Whole);
    }

    #[test]
    fn empty_representation_has_no_range() {
        let of = |value| {
            let headers = HeaderMap::from_iter([(header::RANGE, HeaderValue::from_static(value))]);
            RequestedRange::of(&headers, 0)
        };
        assert_eq!(
            [of("bytes=0-"), of("bytes=-1"), of("bytes=-0")],
            [Unsatisfiable, Unsatisfiable, Unsatisfiable]
        );
    }
}
