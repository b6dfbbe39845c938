//! Conditions of a request on what it reads or changes (RFC 9110, 13.1; D-0074).
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

use crate::entity_tag::{EntityTag, EntityTags, NotEntityTags, TAGS_MAX};
use crate::envelope::{Data, json};
use crate::error::ApiError;
use crate::gzip;

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
    if_match: Option<EntityTags>,
    if_none_match: Option<EntityTags>,
}

impl Conditions {
    /// Answers a `GET`: 412 when it is none of those that were wanted, 304 when the client has it.
    pub fn answer(&self, tagged: Tagged) -> Result<Response, ApiError> {
        if self.if_match.as_ref().is_some_and(|tags| !match_strongly(tags, &tagged)) {
            return Err(ApiError::precondition_failed());
        }
        if self.if_none_match.as_ref().is_some_and(|tags| match_weakly(tags, &tagged)) {
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
        let is_other = self.if_match.as_ref().is_some_and(|tags| !match_strongly(tags, &now));
        let is_known = self.if_none_match.as_ref().is_some_and(|tags| match_weakly(tags, &now));
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

/// RFC 9110, 8.8.3.2: equal, and neither is weak.
fn match_strongly(list: &EntityTags, tagged: &Tagged) -> bool {
    match list {
        EntityTags::Any => true,
        EntityTags::List(tags) => tags.iter().any(|tag| !tag.is_weak && is_of(tag, tagged)),
    }
}

fn match_weakly(list: &EntityTags, tagged: &Tagged) -> bool {
    match list {
        EntityTags::Any => true,
        EntityTags::List(tags) => tags.iter().any(|tag| is_of(tag, tagged)),
    }
}

/// The tag of a compressed answer stands for its text.
fn is_of(tag: &EntityTag, tagged: &Tagged) -> bool {
    match gzip::tag_of_text(&tag.opaque) {
        Some(text) => text == tagged.tag(),
        None => tag.opaque == tagged.tag(),
    }
}

fn tags(parts: &Parts, name: &HeaderName) -> Result<Option<EntityTags>, ApiError> {
    EntityTags::of(&parts.headers, name).map_err(|NotEntityTags| {
        ApiError::bad_request(format!("{name} must be * or up to {TAGS_MAX} tags such as \"33a64df5\""))
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::*;

    fn read(text: Option<&str>) -> Option<EntityTags> {
        let value = HeaderValue::from_str(text?).unwrap();
        EntityTags::of(&HeaderMap::from_iter([(header::IF_MATCH, value)]), &header::IF_MATCH).unwrap()
    }

    #[test]
    fn a_change_wants_the_very_answer_and_a_reader_any_of_its_kind() {
        let data = || Data::ok("payload");
        let tag = String::from_utf8(Tagged::of(&data()).tag().to_vec()).unwrap();
        let check = |if_match: Option<&str>, if_none_match: Option<&str>, may: bool, status: u16| {
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
