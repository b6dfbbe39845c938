//! Parses request headers that may come only once.

use axum::http::{HeaderMap, header};
use kinora_web::error::ApiError;

use super::upload_request::HeaderResult;
use crate::error;

/// The longest length of a file in a header, in bytes: an integer of a structured field has at most 15
/// digits (RFC 9651, 3.3.1), and an upload may be finished in another protocol than it was begun in.
pub(super) const LENGTH_MAX: u64 = 999_999_999_999_999;

/// The headers of a request.
#[derive(Clone, Copy)]
pub(super) struct RequestHeaders<'a>(pub(super) &'a HeaderMap);

impl<'a> RequestHeaders<'a> {
    pub(super) fn has(self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The value of a header; 400 when it came twice or is no text.
    pub(super) fn single(self, name: &str) -> HeaderResult<Option<&'a str>> {
        let mut values = self.0.get_all(name).iter();
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(ApiError::bad_request(format!("the header {name} must be sent once")));
        }
        match value.to_str() {
            Ok(value) => Ok(Some(value.trim())),
            Err(_) => Err(ApiError::bad_request(format!(
                "the header {name} must have only visible ASCII characters"
            ))),
        }
    }

    /// A number of bytes.
    pub(super) fn byte_count(self, name: &str) -> HeaderResult<Option<u64>> {
        let Some(value) = self.single(name)? else { return Ok(None) };
        decimal(value).map(Some).ok_or_else(|| {
            ApiError::bad_request(format!("the header {name} must be a whole number from 0 to {LENGTH_MAX}"))
        })
    }

    /// Bytes of the body; `None` when only the end of the body shows its length.
    pub(super) fn body_len(self) -> HeaderResult<Option<u64>> {
        if self.has(header::TRANSFER_ENCODING.as_str()) {
            return Ok(None);
        }
        Ok(Some(self.byte_count(header::CONTENT_LENGTH.as_str())?.unwrap_or(0)))
    }

    /// The type of the body in lower case, without its parameters.
    pub(super) fn body_type(self) -> HeaderResult<Option<String>> {
        let value = self.single(header::CONTENT_TYPE.as_str())?;
        let essence = |value: &str| value.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        Ok(value.map(essence))
    }

    /// 415 for a body that is not the file itself: a compressed one, or a form that contains the file.
    pub(super) fn reject_encoded(self) -> HeaderResult<()> {
        self.reject_multipart()?;
        self.reject_content_encoding()
    }

    /// 415 for `multipart/…`, and for another type with the `boundary` of one: curl sends it with `-F` and a
    /// custom type.
    ///
    /// Other types mean nothing: `curl --data-binary` sends `application/x-www-form-urlencoded` with a video
    /// (D-0113).
    fn reject_multipart(self) -> HeaderResult<()> {
        let is_form = self.0.get_all(header::CONTENT_TYPE).iter().any(|value| {
            let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
            let (essence, parameters) = value.split_once(';').unwrap_or((&value, ""));
            let mut names = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
            essence.trim().starts_with("multipart/") || names.any(|(name, _)| name.trim() == "boundary")
        });
        if is_form {
            return Err(error::unsupported_body_type(
                "send the bytes of the file as the body, not a form (multipart/form-data): curl -T FILE URL",
            ));
        }
        Ok(())
    }

    /// 415 for a compressed body: the body is stored unchanged as the file.
    fn reject_content_encoding(self) -> HeaderResult<()> {
        let values = self.0.get_all(header::CONTENT_ENCODING).iter();
        let is_encoded = |value: &header::HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
        if values.into_iter().any(is_encoded) {
            return Err(error::unsupported_body_type("send the bytes of the file without Content-Encoding"));
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
pub(super) fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
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
    fn byte_counts_parse_digits_within_bounds() {
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
    fn number_headers_parse_and_duplicate_or_non_ascii_are_rejected() {
        let header_map = headers(&[("a", "1"), ("b", "1"), ("b", "1"), ("c", "\u{fc}"), ("d", " 5 ")]);
        let request_headers = RequestHeaders(&header_map);
        assert_eq!(request_headers.byte_count("a").unwrap(), Some(1));
        assert_eq!(request_headers.byte_count("d").unwrap(), Some(5));
        assert_eq!(request_headers.byte_count("e").unwrap(), None);
        assert!(request_headers.single("b").is_err());
        assert!(request_headers.single("c").is_err());
    }

    #[test]
    fn chunked_body_has_no_length() {
        let check = |pairs: &[(&str, &str)], len| {
            assert_eq!(RequestHeaders(&headers(pairs)).body_len().unwrap(), len)
        };
        check(&[], Some(0));
        check(&[("content-length", "5")], Some(5));
        check(&[("transfer-encoding", "chunked")], None);
    }

    #[test]
    fn multipart_body_is_415() {
        let check = |content_type: &str| {
            RequestHeaders(&headers(&[("content-type", content_type)])).reject_encoded().is_ok()
        };
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
        assert!(RequestHeaders(&twice).reject_encoded().is_err());
    }

    #[test]
    fn content_encoding_is_415() {
        let check = |pairs: &[(&str, &str)]| RequestHeaders(&headers(pairs)).reject_encoded().is_ok();
        assert!(check(&[]));
        assert!(check(&[("content-encoding", "Identity")]));
        assert!(!check(&[("content-encoding", "gzip")]));
        assert!(!check(&[("content-encoding", "identity"), ("content-encoding", "br")]));
        assert!(!check(&[("content-encoding", "")]));
    }
}
