//! Structured fields, as far as the draft needs them (RFC 9651, 4.2).

use kinora_web::error::ApiError;

use super::super::call::Read;
use super::super::given::{Given, LENGTH_MAX, decimal};

/// An Item that is an Integer of at least 0. None of the fields has parameters.
pub(super) fn integer(given: Given<'_>, name: &str) -> Read<Option<u64>> {
    let Some(text) = given.once(name)? else { return Ok(None) };
    // At most 15 digits, zeros in front included.
    let number = Some(text).filter(|text| text.len() <= 15).and_then(decimal);
    number.map(Some).ok_or_else(|| {
        ApiError::bad_request(format!("the header {name} must be a whole number from 0 to {LENGTH_MAX}"))
    })
}

/// An Item that is a Boolean.
pub(super) fn boolean(given: Given<'_>, name: &str) -> Read<Option<bool>> {
    match given.once(name)? {
        None => Ok(None),
        Some("?0") => Ok(Some(false)),
        Some("?1") => Ok(Some(true)),
        Some(_) => Err(ApiError::bad_request(format!("the header {name} must be ?0 or ?1"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::given::headers;
    use super::*;

    #[test]
    fn items_are_read_strictly() {
        let read = |text: &str| integer(Given(&headers(&[("x", text)])), "x").ok().flatten();
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
        let read = |text: &str| boolean(Given(&headers(&[("x", text)])), "x").ok().flatten();
        assert_eq!((read("?0"), read("?1")), (Some(false), Some(true)));
        for text in ["", "0", "1", "true", "?2", "? 1", "?1;a", "?1, ?1"] {
            assert_eq!(read(text), None, "{text}");
        }
        let absent = headers(&[]);
        assert_eq!(integer(Given(&absent), "x").unwrap(), None);
        assert_eq!(boolean(Given(&absent), "x").unwrap(), None);
    }
}
