//! Conditions of a request on what it reads or changes (RFC 9110, 13.1; decision 0074).
//!
//! A tag is a hash of the answer that `GET` gives: whatever is another in it, for whatever reason, gives
//! another tag. So it is strong, and a change that was made for one answer is not made over another.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::envelope::{Data, json};
use crate::error::ApiError;
use crate::gzip;

/// Most tags of a header: a client knows a few answers of one thing.
const TAGS_MAX: usize = 32;

/// An answer with its tag.
#[derive(Debug, Clone)]
pub struct Tagged {
    body: Bytes,
    status: StatusCode,
    /// With its quotes.
    tag: HeaderValue,
}

impl Tagged {
    /// This answer. The tag is that of the same payload with status 200.
    pub fn of<T: Serialize>(data: &Data<T>) -> Self {
        let body = Bytes::from(data.to_json());
        let tag: String = Sha256::digest(&body)[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let tag = HeaderValue::from_str(&format!("\"{tag}\"")).expect("hex digits in quotes");
        Self { body, status: data.status(), tag }
    }

    /// Bytes that it takes in memory.
    pub fn size_bytes(&self) -> usize {
        self.body.len()
    }

    /// The answer of whoever changed it: the client knows the tag of what is now.
    pub fn into_response(self) -> Response {
        let mut response = json(self.status, self.body);
        response.headers_mut().insert(header::ETAG, self.tag);
        response
    }

    fn tag(&self) -> &[u8] {
        self.tag.as_bytes()
    }
}

/// What a client knows, and under which condition its request is to be done.
///
/// 400 for a header that is no list of tags, and for one of more than [`TAGS_MAX`].
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Tags {
    /// `*`: whatever there is.
    Any,
    /// With their quotes, and whether they are weak.
    Those(Vec<(bool, Vec<u8>)>),
}

impl Conditions {
    /// Answers a `GET`: 412 when it is none of those that were wanted, 304 when the client has it.
    pub fn answer(&self, tagged: Tagged) -> Result<Response, ApiError> {
        if self.if_match.as_ref().is_some_and(|tags| !tags.match_strongly(&tagged)) {
            return Err(ApiError::precondition_failed());
        }
        if self.if_none_match.as_ref().is_some_and(|tags| tags.match_weakly(&tagged)) {
            let headers =
                [(header::ETAG, tagged.tag), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
            return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
        }
        Ok(tagged.into_response())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// Whether a change may be made of what answers `GET` so. Called in the transaction of the change: two
    /// that were made for the same answer cannot both be.
    pub fn hold<T: Serialize>(&self, now: impl FnOnce() -> Data<T>) -> bool {
        if self.is_empty() {
            return true;
        }
        let now = Tagged::of(&now());
        let is_other = self.if_match.as_ref().is_some_and(|tags| !tags.match_strongly(&now));
        let is_known = self.if_none_match.as_ref().is_some_and(|tags| tags.match_weakly(&now));
        !is_other && !is_known
    }

    /// [`Conditions::hold`], or 412.
    pub fn check<T: Serialize>(&self, now: impl FnOnce() -> Data<T>) -> Result<(), ApiError> {
        if self.hold(now) { Ok(()) } else { Err(ApiError::precondition_failed()) }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Conditions {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self {
            if_match: tags(parts, &header::IF_MATCH)?,
            if_none_match: tags(parts, &header::IF_NONE_MATCH)?,
        })
    }
}

impl Tags {
    /// RFC 9110, 8.8.3.2: equal, and neither is weak. Tags of compressed answers were read as those of the
    /// text.
    fn match_strongly(&self, tagged: &Tagged) -> bool {
        match self {
            Self::Any => true,
            Self::Those(tags) => tags.iter().any(|(is_weak, tag)| !is_weak && tag == tagged.tag()),
        }
    }

    fn match_weakly(&self, tagged: &Tagged) -> bool {
        match self {
            Self::Any => true,
            Self::Those(tags) => tags.iter().any(|(_, tag)| tag == tagged.tag()),
        }
    }
}

/// Several headers of a name are one list (RFC 9110, 5.3).
fn tags(parts: &Parts, name: &HeaderName) -> Result<Option<Tags>, ApiError> {
    let lines: Vec<&[u8]> = parts.headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    if lines.is_empty() {
        return Ok(None);
    }
    parse(&lines.join(&b',')).map(Some).ok_or_else(|| {
        ApiError::bad_request(format!("{name} must be * or up to {TAGS_MAX} tags such as \"33a64df5\""))
    })
}

/// RFC 9110, 8.8.3 and 13.1.1: a tag may hold a comma.
fn parse(mut list: &[u8]) -> Option<Tags> {
    list = list.trim_ascii();
    if list == b"*" {
        return Some(Tags::Any);
    }
    let mut tags = Vec::new();
    list = behind_commas(list);
    while !list.is_empty() {
        let rest = list.strip_prefix(b"W/");
        let is_weak = rest.is_some();
        let rest = rest.unwrap_or(list);
        let len = rest.strip_prefix(b"\"")?.iter().position(|byte| *byte == b'"')? + 2;
        let (tag, behind) = rest.split_at(len);
        if tag.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) || tags.len() == TAGS_MAX {
            return None;
        }
        tags.push((is_weak, gzip::tag_of_text(tag).unwrap_or_else(|| tag.to_vec())));
        list = behind.trim_ascii_start();
        if !list.is_empty() && !list.starts_with(b",") {
            return None;
        }
        list = behind_commas(list);
    }
    (!tags.is_empty()).then_some(Tags::Those(tags))
}

/// Empty elements are passed over (RFC 9110, 5.6.1.2).
fn behind_commas(mut list: &[u8]) -> &[u8] {
    while let Some(next) = list.strip_prefix(b",") {
        list = next.trim_ascii_start();
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn those(tags: &[(bool, &str)]) -> Option<Tags> {
        Some(Tags::Those(tags.iter().map(|(is_weak, tag)| (*is_weak, tag.as_bytes().to_vec())).collect()))
    }

    #[test]
    fn lists_of_tags_are_read_as_they_are_written() {
        let check = |text: &str, expected| assert_eq!(parse(text.as_bytes()), expected, "{text}");
        check("*", Some(Tags::Any));
        check(" * ", Some(Tags::Any));
        check("\"a\"", those(&[(false, "\"a\"")]));
        // Of a compressed answer: the text is the same.
        check("\"a-gzip\", W/\"b-gzip\"", those(&[(false, "\"a\""), (true, "\"b\"")]));
        check("\"a\", W/\"b,c\" ,\"\"", those(&[(false, "\"a\""), (true, "\"b,c\""), (false, "\"\"")]));
        check(",\"a\",, ,\"b\",", those(&[(false, "\"a\""), (false, "\"b\"")]));
        let full = vec!["\"a\""; TAGS_MAX].join(", ");
        check(&full, those(&[(false, "\"a\""); TAGS_MAX]));
        check(&format!("{full}, \"a\""), None);
        for none in ["", "a", "\"a", "a\"", "*, \"a\"", "\"a\" \"b\"", "w/\"a\"", "W/a", "\"a b\"", ","] {
            check(none, None);
        }
    }

    #[test]
    fn a_change_wants_the_very_answer_and_a_reader_any_of_its_kind() {
        let data = || Data::ok("payload");
        let tag = String::from_utf8(Tagged::of(&data()).tag().to_vec()).unwrap();
        let check = |if_match: Option<&str>, if_none_match: Option<&str>, may: bool, status: u16| {
            let read = |text: Option<&str>| text.map(|text| parse(text.as_bytes()).unwrap());
            let conditions = Conditions { if_match: read(if_match), if_none_match: read(if_none_match) };
            assert_eq!(conditions.check(data).is_ok(), may, "{if_match:?} {if_none_match:?}");
            let answer = conditions.answer(Tagged::of(&data()));
            let answered = answer.map_or_else(|error| error.status(), |response| response.status());
            assert_eq!(answered, status, "{if_match:?} {if_none_match:?}");
        };
        let weak = format!("W/{tag}");
        check(None, None, true, 200);
        check(Some(&tag), None, true, 200);
        check(Some(&format!("\"x\", {tag}")), None, true, 200);
        check(Some("*"), None, true, 200);
        check(Some(&weak), None, false, 412);
        check(Some("\"x\""), None, false, 412);
        check(None, Some(&tag), false, 304);
        check(None, Some(&weak), false, 304);
        check(None, Some("*"), false, 304);
        check(None, Some("\"x\""), true, 200);
        check(Some("\"x\""), Some(&tag), false, 412);
        assert_ne!(tag.as_bytes(), Tagged::of(&Data::ok("other")).tag());
    }
}
