//! The `Content-Range` field (RFC 9110, 14.4).

/// The range of bytes in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentRange {
    /// These bytes; `end` is the first byte after them.
    Bytes { start: u64, end: u64, total: Option<u64> },
    /// No bytes: the requested range is outside of a source of this size.
    Unsatisfied { total: u64 },
}

impl ContentRange {
    /// Parses the field. `None` for another unit, for malformed text, and for contradictory ranges.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (unit, rest) = text.trim().split_once(' ')?;
        if !unit.eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (range, total) = rest.trim_start().split_once('/')?;
        if range == "*" {
            return Some(Self::Unsatisfied { total: number(total)? });
        }
        let total = if total == "*" { None } else { Some(number(total)?) };
        let (first, last) = range.split_once('-')?;
        let (start, end) = (number(first)?, number(last)?.checked_add(1)?);
        let is_valid = start < end && total.is_none_or(|total| end <= total);
        is_valid.then_some(Self::Bytes { start, end, total })
    }
}

/// Digits only: `parse` alone would accept a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<ContentRange>) {
        assert_eq!(ContentRange::parse(text), expected, "{text}");
    }

    #[test]
    fn ranges_are_read_with_and_without_the_total() {
        check("bytes 5-9/10", Some(ContentRange::Bytes { start: 5, end: 10, total: Some(10) }));
        check("Bytes 0-0/*", Some(ContentRange::Bytes { start: 0, end: 1, total: None }));
        check("bytes */10", Some(ContentRange::Unsatisfied { total: 10 }));
    }

    #[test]
    fn contradictory_content_range_is_rejected() {
        check("", None);
        check("bytes", None);
        check("bytes 5-9", None);
        check("items 5-9/10", None);
        check("bytes 9-5/10", None);
        check("bytes 5-10/10", None);
        check("bytes +5-9/10", None);
        check("bytes -/10", None);
        check("bytes */*", None);
        check("bytes 0-18446744073709551615/*", None);
        check("bytes 0-99999999999999999999/*", None);
    }
}
