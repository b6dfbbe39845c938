//! Conditional requests (RFC 9110, 13.1; D-0074).
//!
//! The entity tag is a hash of the `GET` response: any change of the response changes the tag. So the tag is
//! strong, and a change made for one version never overwrites another.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::entity_tag::{EntityTag, EntityTags, InvalidEntityTags, TAGS_MAX};
use crate::envelope::{Data, json};
use crate::error::ApiError;
use crate::gzip;

/// A response with its entity tag.
#[derive(Debug, Clone)]
pub struct TaggedResponse {
    body: Bytes,
    status: StatusCode,
    /// With its quotes.
    tag: HeaderValue,
}

impl TaggedResponse {
    /// The response with this payload. The tag is that of the same payload with status 200.
    pub fn of<T: Serialize>(data: &Data<T>) -> Self {
        let body = Bytes::from(data.to_json());
        let tag: String = Sha256::digest(&body)[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let tag = HeaderValue::from_str(&format!("\"{tag}\"")).expect("hex digits in quotes");
        Self { body, status: data.status(), tag }
    }

    /// Size of the body in memory, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.body.len()
    }

    /// The response with its `ETag`. After a change the client thus has the new tag.
    pub fn into_response(self) -> Response {
        let mut response = json(self.status, self.body);
        response.headers_mut().insert(header::ETAG, self.tag);
        response
    }

    fn tag(&self) -> &[u8] {
        self.tag.as_bytes()
    }
}

/// The conditions of a request, by the entity tags that the client has.
///
/// 400 for a header that is no list of tags, and for one of more than [`TAGS_MAX`].
#[derive(Debug, Clone, Default)]
pub struct Preconditions {
    if_match: Option<EntityTags>,
    if_none_match: Option<EntityTags>,
}

impl Preconditions {
    /// The response to a `GET`: 412 when `If-Match` has another tag, 304 when the client has this version.
    pub fn respond(&self, tagged: TaggedResponse) -> Result<Response, ApiError> {
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

    /// Whether the request has no condition.
    pub fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// Whether the conditions allow a change of the resource whose `GET` response this is. Call it in the
    /// transaction of the change: of two changes made for one version only one can succeed.
    pub fn is_met<T: Serialize>(&self, current_response: impl FnOnce() -> Data<T>) -> bool {
        if self.is_empty() {
            return true;
        }
        let current = TaggedResponse::of(&current_response());
        let is_other = self.if_match.as_ref().is_some_and(|tags| !match_strongly(tags, &current));
        let is_known = self.if_none_match.as_ref().is_some_and(|tags| match_weakly(tags, &current));
        !is_other && !is_known
    }

    /// [`Preconditions::is_met`], or 412.
    pub fn check<T: Serialize>(&self, current_response: impl FnOnce() -> Data<T>) -> Result<(), ApiError> {
        if self.is_met(current_response) { Ok(()) } else { Err(ApiError::precondition_failed()) }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Preconditions {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self {
            if_match: parse_tags(parts, &header::IF_MATCH)?,
            if_none_match: parse_tags(parts, &header::IF_NONE_MATCH)?,
        })
    }
}

/// RFC 9110, 8.8.3.2: equal, and neither is weak.
fn match_strongly(list: &EntityTags, tagged: &TaggedResponse) -> bool {
    match list {
        EntityTags::Any => true,
        EntityTags::List(tags) => tags.iter().any(|tag| !tag.is_weak && is_tag_of(tag, tagged)),
    }
}

fn match_weakly(list: &EntityTags, tagged: &TaggedResponse) -> bool {
    match list {
        EntityTags::Any => true,
        EntityTags::List(tags) => tags.iter().any(|tag| is_tag_of(tag, tagged)),
    }
}

/// The tag of a compressed response also matches: it belongs to the same text.
fn is_tag_of(tag: &EntityTag, tagged: &TaggedResponse) -> bool {
    match gzip::tag_of_text(&tag.opaque) {
        Some(text) => text == tagged.tag(),
        None => tag.opaque == tagged.tag(),
    }
}

fn parse_tags(parts: &Parts, name: &HeaderName) -> Result<Option<EntityTags>, ApiError> {
    EntityTags::of(&parts.headers, name).map_err(|InvalidEntityTags| {
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
    fn if_match_compares_strongly_if_none_match_weakly() {
        let data = || Data::ok("payload");
        let tag = String::from_utf8(TaggedResponse::of(&data()).tag().to_vec()).unwrap();
        let check = |if_match: Option<&str>, if_none_match: Option<&str>, may: bool, status: u16| {
            let conditions = Preconditions { if_match: read(if_match), if_none_match: read(if_none_match) };
            assert_eq!(conditions.check(data).is_ok(), may, "{if_match:?} {if_none_match:?}");
            let answer = conditions.respond(TaggedResponse::of(&data()));
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
        assert_ne!(tag.as_bytes(), TaggedResponse::of(&Data::ok("other")).tag());
    }
}
