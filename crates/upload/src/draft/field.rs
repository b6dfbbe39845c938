//! Structured fields, as far as the draft uses them (RFC 9651, 4.2).

use kinora_web::error::ApiError;

use super::super::request_headers::{LENGTH_MAX, RequestHeaders, decimal};
use super::super::upload_request::HeaderResult;

/// An Item that is an Integer of at least 0. None of the fields has parameters.
pub(super) fn integer(headers: RequestHeaders<'_>, name: &str) -> HeaderResult<Option<u64>> {
    let Some(text) = headers.single(name)? else { return Ok(None) };
    // At most 15 digits, leading zeros included.
    let number = Some(text).filter(|text| text.len() <= 15).and_then(decimal);
    number.map(Some).ok_or_else(|| {
        ApiError::bad_request(format!("the header {name} must be a whole number from 0 to {LENGTH_MAX}"))
    })
}

/// An Item that is a Boolean.
pub(super) fn boolean(headers: RequestHeaders<'_>, name: &str) -> HeaderResult<Option<bool>> {
    match headers.single(name)? {
        None => Ok(None),
        Some("?0") => Ok(Some(false)),
        Some("?1") => Ok(Some(true)),
        Some(_) => Err(ApiError::bad_request(format!("the header {name} must be ?0 or ?1"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::request_headers::headers;
    use super::*;

    #[test]
    fn malformed_structured_field_items_are_rejected() {
        let read = |text: &str| integer(RequestHeaders(&headers(&[("x", text)])), "x").ok().flatten();
        for (text, number) in
            [("0", Some(0)), ("007", Some(7)), (" 5 ", Some(5)), ("999999999999999", Some(LENGTH_MAX))]
        {
            assert_eq!(read(text), number, "{text}");
        }
        for text in [
            "",
            "-0",
            "-5",
            "+5",
            "5.0",
            "5;a=1",
            "\"5\"",
            "5, 6",
            "0000000000000005",
            "1000000000000000",
            "?1",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        let read = |text: &str| boolean(RequestHeaders(&headers(&[("x", text)])), "x").ok().flatten();
        assert_eq!((read("?0"), read("?1")), (Some(false), Some(true)));
        for text in ["", "0", "1", "true", "?2", "? 1", "?1;a", "?1, ?1"] {
            assert_eq!(read(text), None, "{text}");
        }
        let absent = headers(&[]);
        assert_eq!(integer(RequestHeaders(&absent), "x").unwrap(), None);
        assert_eq!(boolean(RequestHeaders(&absent), "x").unwrap(), None);
    }
}
