//! Request headers that come once, and what may stand in them.

use axum::http::{HeaderMap, header};
use kinora_web::error::ApiError;

use super::call::Read;
use crate::error;

/// The longest file that can be spoken of, in bytes: an integer of a structured field has at most 15 digits
/// (RFC 9651, 3.3.1), and an upload may be finished in another protocol than it was begun in.
pub(super) const LENGTH_MAX: u64 = 999_999_999_999_999;

/// The headers of a request.
#[derive(Clone, Copy)]
pub(super) struct Given<'a>(pub(super) &'a HeaderMap);

impl<'a> Given<'a> {
    pub(super) fn has(self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The value of a header; 400 when it came twice or is no text.
    pub(super) fn once(self, name: &str) -> Read<Option<&'a str>> {
        let mut values = self.0.get_all(name).iter();
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(ApiError::bad_request(format!("the header {name} must come once")));
        }
        match value.to_str() {
            Ok(value) => Ok(Some(value.trim())),
            Err(_) => Err(ApiError::bad_request(format!("the header {name} is no text"))),
        }
    }

    /// A number of bytes.
    pub(super) fn bytes(self, name: &str) -> Read<Option<u64>> {
        let Some(value) = self.once(name)? else { return Ok(None) };
        decimal(value).map(Some).ok_or_else(|| {
            ApiError::bad_request(format!("the header {name} must be a whole number from 0 to {LENGTH_MAX}"))
        })
    }

    /// Bytes of the body; `None` when only its end will tell.
    pub(super) fn body_len(self) -> Read<Option<u64>> {
        if self.has(header::TRANSFER_ENCODING.as_str()) {
            return Ok(None);
        }
        Ok(Some(self.bytes(header::CONTENT_LENGTH.as_str())?.unwrap_or(0)))
    }

    /// The type of the body in lower case, without its parameters.
    pub(super) fn body_type(self) -> Read<Option<String>> {
        let value = self.once(header::CONTENT_TYPE.as_str())?;
        let essence = |value: &str| value.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        Ok(value.map(essence))
    }

    /// 415 for a body that is not the file itself: a compressed one, or a form with the file in it.
    pub(super) fn refuse_wrapped(self) -> Read<()> {
        self.refuse_form()?;
        self.refuse_packed()
    }

    /// 415 for `multipart/…`, and for another type with the `boundary` of one, which curl sends with `-F` and
    /// a type of its own.
    ///
    /// Other types say nothing: `curl --data-binary` sends `application/x-www-form-urlencoded` in front of a
    /// video (D-0113).
    fn refuse_form(self) -> Read<()> {
        let is_form = self.0.get_all(header::CONTENT_TYPE).iter().any(|value| {
            let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
            let (essence, parameters) = value.split_once(';').unwrap_or((&value, ""));
            let mut names = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
            essence.trim().starts_with("multipart/") || names.any(|(name, _)| name.trim() == "boundary")
        });
        if is_form {
            return Err(error::other_body_type(
                "send the bytes of the file as the body, not a form (multipart/form-data): curl -T FILE URL",
            ));
        }
        Ok(())
    }

    /// 415 for a compressed body: what is stored is the file.
    fn refuse_packed(self) -> Read<()> {
        let values = self.0.get_all(header::CONTENT_ENCODING).iter();
        let is_packed = |value: &header::HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
        if values.into_iter().any(is_packed) {
            return Err(error::other_body_type(
                "send the bytes of the file as they are, without Content-Encoding",
            ));
        }
        Ok(())
    }
}

/// Digits and nothing else, up to [`LENGTH_MAX`].
pub(super) fn decimal(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse::<u64>().ok())??;
    (number <= LENGTH_MAX).then_some(number)
}

/// Headers for the tests of the protocols.
#[cfg(test)]
pub(super) fn headers(given: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let name = axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
        let value = axum::http::HeaderValue::from_bytes(value.as_bytes()).unwrap();
        headers.append(name, value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_bytes_is_digits_within_bounds() {
        for (text, number) in [("0", 0), ("007", 7), ("999999999999999", LENGTH_MAX)] {
            assert_eq!(decimal(text), Some(number), "{text}");
        }
        for text in [
            "",
            "-1",
            "+1",
            " 1",
            "1 ",
            "1.0",
            "1e3",
            "0x1",
            "１",
            "1000000000000000",
            "18446744073709551616",
        ] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn a_header_comes_once() {
        let given = headers(&[("a", "1"), ("b", "1"), ("b", "1"), ("c", "\u{fc}"), ("d", " 5 ")]);
        let given = Given(&given);
        assert_eq!(given.bytes("a").unwrap(), Some(1));
        assert_eq!(given.bytes("d").unwrap(), Some(5));
        assert_eq!(given.bytes("e").unwrap(), None);
        assert!(given.once("b").is_err());
        assert!(given.once("c").is_err());
    }

    #[test]
    fn the_length_of_a_body_is_known_unless_it_comes_in_pieces() {
        let check = |given: &[(&str, &str)], len| assert_eq!(Given(&headers(given)).body_len().unwrap(), len);
        check(&[], Some(0));
        check(&[("content-length", "5")], Some(5));
        check(&[("transfer-encoding", "chunked")], None);
    }

    #[test]
    fn a_form_is_refused_and_other_types_are_not() {
        let check = |given: &str| Given(&headers(&[("content-type", given)])).refuse_wrapped().is_ok();
        for form in [
            "multipart/form-data; boundary=----x",
            "multipart/form-data",
            "Multipart/Form-Data;boundary=\"x\"",
            "multipart/related; boundary=x",
            "video/mp4; boundary=----x",
            "video/mp4; codecs=avc1 ;Boundary =x",
        ] {
            assert!(!check(form), "{form}");
        }
        for file in [
            "",
            "application/x-www-form-urlencoded",
            "application/octet-stream",
            "application/json",
            "text/plain;charset=UTF-8",
            "video/mp4; codecs=\"avc1.42E01E, boundary\"",
            "video/multipart",
        ] {
            assert!(check(file), "{file}");
        }
        let twice = headers(&[("content-type", "video/mp4"), ("content-type", "multipart/form-data")]);
        assert!(Given(&twice).refuse_wrapped().is_err());
    }

    #[test]
    fn a_packed_body_is_refused() {
        let check = |given: &[(&str, &str)]| Given(&headers(given)).refuse_wrapped().is_ok();
        assert!(check(&[]));
        assert!(check(&[("content-encoding", "Identity")]));
        assert!(!check(&[("content-encoding", "gzip")]));
        assert!(!check(&[("content-encoding", "identity"), ("content-encoding", "br")]));
        assert!(!check(&[("content-encoding", "")]));
    }
}
