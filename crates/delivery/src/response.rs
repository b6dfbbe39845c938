//! Bytes with a known length: conditions, ranges, caching (RFC 9110, 13 and 14).

use std::ops::Range;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use kinora_web::entity_tag::EntityTags;
use kinora_web::gzip;
use sha2::{Digest as _, Sha256};

use super::metered_body::UsageMeter;
use super::range::RequestedRange;
use crate::DeliveryState;
use crate::error;

/// Prefix of a weak entity tag: the bytes are equivalent, not identical (RFC 9110, 8.8.1).
pub(super) const WEAK: &str = "W/";

/// Bytes as lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The metadata of a response body.
pub(super) struct Content {
    /// MIME type.
    pub(super) content_type: &'static str,
    /// Value of `ETag`, with its quotes. Equal bytes have the same tag, unless it begins with [`WEAK`].
    pub(super) etag: String,
    /// Cache policy, and the account that the traffic counts for.
    pub(super) policy: ResponsePolicy,
    /// Length of the whole, in bytes.
    pub(super) len: u64,
    /// Playing time of the whole, in microseconds; 0 for content that does not play by itself.
    pub(super) playing_time_us: u64,
}

/// Cache policy and account of a response.
#[derive(Clone)]
pub(super) struct ResponsePolicy {
    /// Cache policy.
    pub(super) cache_policy: CachePolicy,
    /// The account that the traffic counts for; `None` for content that belongs to no media.
    pub(super) meter: Option<UsageMeter>,
}

/// `Cache-Control` of content that never changes under its address (C-13).
pub(super) const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// How long content below a playback ID may be cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheLifetime {
    /// It never changes under its address (C-13).
    Immutable,
    /// A change of the media must be visible within 2 s.
    Short,
    /// It may be up to one minute old.
    Minute,
}

impl CacheLifetime {
    /// The policy of content that every viewer may have.
    pub(super) fn public(self) -> CachePolicy {
        match self {
            Self::Immutable => IMMUTABLE,
            Self::Short => "public, max-age=2",
            Self::Minute => "public, max-age=60",
        }
        .into()
    }

    /// The policy of content that only some viewers may have. Only the viewer caches it, and briefly, so
    /// that a revoked right ends soon (C-13).
    pub(super) fn private(self) -> CachePolicy {
        CachePolicy { control: CacheControl::Private(self.private_max_age_s()), vary: VaryOn::default() }
    }

    /// Longest time in the viewer's own cache, in seconds.
    fn private_max_age_s(self) -> u32 {
        match self {
            Self::Immutable | Self::Minute => 60,
            Self::Short => 2,
        }
    }

    /// The policy of content below a signed path, which is the same for every viewer with that path.
    ///
    /// Where the operator allows it, shared caches store the content for `s_maxage_s` seconds (D-0090).
    /// Content that may change under its path is not shared, nor is content that is requested with a token.
    /// No cache stores it longer than the signature of its path is valid, `expires_in_s` seconds.
    pub(super) fn for_signed_path(self, expires_in_s: Option<u32>, s_maxage_s: Option<u32>) -> CachePolicy {
        let max_age_s = expires_in_s
            .map_or(self.private_max_age_s(), |remaining_s| remaining_s.min(self.private_max_age_s()));
        let control = match (self, s_maxage_s) {
            (Self::Immutable, Some(s_maxage_s)) => CacheControl::Shared { max_age_s, s_maxage_s },
            _ => CacheControl::Private(max_age_s),
        };
        CachePolicy { control, vary: VaryOn::default() }
    }
}

/// The cache policy of a response, as its headers express it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CachePolicy {
    control: CacheControl,
    vary: VaryOn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CacheControl {
    Fixed(&'static str),
    /// Only the viewer caches it, for this many seconds.
    Private(u32),
    /// The viewer caches it for `max_age_s` seconds, shared caches for `s_maxage_s` seconds.
    Shared {
        max_age_s: u32,
        s_maxage_s: u32,
    },
}

/// The request headers that a response depends on, for `Vary`. Without them a cache would serve one viewer's
/// response to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct VaryOn {
    /// `Origin` and `Referer`, which name the page.
    pub(super) page: bool,
    /// `User-Agent`, which names the player.
    pub(super) user_agent: bool,
    /// `Accept-Encoding`, which names the codings that the client decodes.
    pub(super) accept_encoding: bool,
}

impl VaryOn {
    /// Value of `Vary` (RFC 9110, 12.5.5).
    pub(super) fn vary(self) -> Option<&'static str> {
        match (self.page, self.user_agent, self.accept_encoding) {
            (false, false, false) => None,
            (true, false, false) => Some("Origin, Referer"),
            (false, true, false) => Some("User-Agent"),
            (true, true, false) => Some("Origin, Referer, User-Agent"),
            (false, false, true) => Some("Accept-Encoding"),
            (true, false, true) => Some("Origin, Referer, Accept-Encoding"),
            (false, true, true) => Some("User-Agent, Accept-Encoding"),
            (true, true, true) => Some("Origin, Referer, User-Agent, Accept-Encoding"),
        }
    }
}

impl CachePolicy {
    /// The same policy, for a response that depends on these headers.
    pub(super) fn vary_on(self, vary: VaryOn) -> Self {
        Self { vary, ..self }
    }

    /// The same policy, for a text that is sent in several codings.
    fn vary_on_encoding(self) -> Self {
        Self { vary: VaryOn { accept_encoding: true, ..self.vary }, ..self }
    }

    /// Sets the headers.
    pub(super) fn apply(self, headers: &mut HeaderMap) {
        let control = match self.control {
            CacheControl::Fixed(control) => HeaderValue::from_static(control),
            // The most frequent policy, without a formatted string.
            CacheControl::Private(60) => HeaderValue::from_static("private, max-age=60"),
            CacheControl::Private(seconds) => digits(&format!("private, max-age={seconds}")),
            CacheControl::Shared { max_age_s, s_maxage_s } => {
                digits(&format!("public, max-age={max_age_s}, s-maxage={s_maxage_s}"))
            }
        };
        headers.insert(header::CACHE_CONTROL, control);
        if let Some(vary) = self.vary.vary() {
            headers.insert(header::VARY, HeaderValue::from_static(vary));
        }
    }
}

fn digits(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).expect("made of words and digits")
}

impl From<&'static str> for CachePolicy {
    fn from(control: &'static str) -> Self {
        Self { control: CacheControl::Fixed(control), vary: VaryOn::default() }
    }
}

impl ResponsePolicy {
    /// The policy of content that belongs to no media and counts for no workspace.
    pub(super) fn unmetered(cache_policy: CachePolicy) -> Self {
        Self { cache_policy, meter: None }
    }
}

/// Sends bytes that are already in memory.
pub(super) fn send(
    request: &HeaderMap,
    bytes: Bytes,
    content_type: &'static str,
    etag: String,
    policy: ResponsePolicy,
) -> Response {
    let content = Content { content_type, etag, policy, len: bytes.len() as u64, playing_time_us: 0 };
    content.answer(request, |range| Body::from(slice(bytes, range)))
}

/// A range of the bytes, cut to their length.
pub(super) fn slice(bytes: Bytes, range: Range<u64>) -> Bytes {
    let at =
        |position: u64| usize::try_from(position).map_or(bytes.len(), |position| position.min(bytes.len()));
    bytes.slice(at(range.start)..at(range.end))
}

/// Sends a text that is already in memory, compressed where it is long enough and the client accepts gzip.
///
/// `etag` is the tag of the uncompressed text. A range is a range of the uncompressed text: a client that
/// requests one with the tag of the compressed text in `If-Range` gets the whole text.
pub(super) async fn send_text(
    app: &DeliveryState,
    request: &HeaderMap,
    text: Bytes,
    content_type: &'static str,
    etag: String,
    policy: ResponsePolicy,
) -> Response {
    if text.len() < gzip::LEN_MIN {
        return send(request, text, content_type, etag, policy);
    }
    let varying_policy = ResponsePolicy { cache_policy: policy.cache_policy.vary_on_encoding(), ..policy };
    if request.contains_key(header::RANGE) || !gzip::is_accepted(request) {
        return send(request, text, content_type, etag, varying_policy);
    }
    let gzip_etag = gzip::gzip_tag(&etag);
    if let Some(unchanged) = not_modified(request, &gzip_etag, varying_policy.cache_policy) {
        return unchanged;
    }
    let compressed = app.gzip.get(&etag, &text).await;
    let mut response = send(request, compressed, content_type, gzip_etag, varying_policy);
    response.headers_mut().insert(header::CONTENT_ENCODING, gzip::GZIP);
    response
}

/// Sends a text that may change under its address: its tag is its hash.
pub(super) async fn send_changing_text(
    app: &DeliveryState,
    request: &HeaderMap,
    text: Bytes,
    content_type: &'static str,
    policy: ResponsePolicy,
) -> Response {
    let etag = format!("\"{}\"", hex(&Sha256::digest(&text)[..16]));
    send_text(app, request, text, content_type, etag, policy).await
}

impl Content {
    /// Responds to a request: 304 when the client has the bytes, 206 for one range, 416 for one outside,
    /// else 200.
    ///
    /// `body` makes the bytes of the range that it is given.
    pub(super) fn answer(self, request: &HeaderMap, body: impl FnOnce(Range<u64>) -> Body) -> Response {
        if let Some(unchanged) = not_modified(request, &self.etag, self.policy.cache_policy) {
            return unchanged;
        }
        let common = validator_headers(&self.etag, self.policy.cache_policy);
        let requested = if self.matches_if_range(request) {
            RequestedRange::of(request, self.len)
        } else {
            RequestedRange::Whole
        };
        let (status, range) = match requested {
            RequestedRange::Whole => (StatusCode::OK, 0..self.len),
            RequestedRange::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
            RequestedRange::Unsatisfiable => {
                let mut response = error::range_not_satisfiable().into_response();
                let range = format!("bytes */{}", self.len);
                let value = HeaderValue::from_str(&range).expect("made of digits");
                response.headers_mut().insert(header::CONTENT_RANGE, value);
                return response;
            }
        };
        let body = body(range.clone());
        let body = match self.policy.meter {
            Some(meter) => meter.count(body, self.len, self.playing_time_us),
            None => body,
        };
        let mut response = (status, common, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(header::CONTENT_LENGTH, (range.end - range.start).into());
        if status == StatusCode::PARTIAL_CONTENT {
            let range = format!("bytes {}-{}/{}", range.start, range.end - 1, self.len);
            headers.insert(header::CONTENT_RANGE, HeaderValue::from_str(&range).expect("made of digits"));
        }
        response
    }

    /// A range is sent only of the exact bytes that the client began with (RFC 9110, 13.1.5).
    fn matches_if_range(&self, request: &HeaderMap) -> bool {
        match request.get(header::IF_RANGE) {
            None => true,
            // A weak tag never matches (RFC 9110, 8.8.3.2).
            Some(value) => !self.etag.starts_with(WEAK) && value.as_bytes() == self.etag.as_bytes(),
        }
    }
}

/// 304 for a client that has the bytes of this tag, so that nothing is made for it; else `None`.
pub(super) fn not_modified(request: &HeaderMap, etag: &str, cache_policy: CachePolicy) -> Option<Response> {
    matches_if_none_match(request, etag)
        .then(|| (StatusCode::NOT_MODIFIED, validator_headers(etag, cache_policy)).into_response())
}

/// As [`not_modified`], before the content is known to exist: only a tag that the client names matches, since
/// `*` matches existing content only.
pub(super) fn not_modified_by_tag(
    request: &HeaderMap,
    etag: &str,
    cache_policy: CachePolicy,
) -> Option<Response> {
    let is_match = if_none_match(request)?.tags().iter().any(|tag| tag.matches_weakly(etag));
    is_match.then(|| (StatusCode::NOT_MODIFIED, validator_headers(etag, cache_policy)).into_response())
}

/// Headers that a 304 has too (RFC 9110, 15.4.5).
fn validator_headers(etag: &str, cache_policy: CachePolicy) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, HeaderValue::from_str(etag).expect("made of hex digits and words"));
    cache_policy.apply(&mut headers);
    headers
}

/// Compares weakly; `*` matches all existing content (RFC 9110, 13.1.2).
fn matches_if_none_match(request: &HeaderMap, etag: &str) -> bool {
    if_none_match(request).is_some_and(|list| match list {
        EntityTags::Any => true,
        EntityTags::List(tags) => tags.iter().any(|tag| tag.matches_weakly(etag)),
    })
}

/// A malformed list is ignored: the client gets the bytes.
fn if_none_match(request: &HeaderMap) -> Option<EntityTags> {
    EntityTags::of(request, &header::IF_NONE_MATCH).ok().flatten()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    #[test]
    fn shared_caches_store_only_immutable_signed_paths() {
        let check = |cache_policy: CachePolicy, control: &str, vary: Option<&str>| {
            let mut headers = HeaderMap::new();
            cache_policy.apply(&mut headers);
            let value = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap());
            assert_eq!((value(header::CACHE_CONTROL), value(header::VARY)), (Some(control), vary));
        };
        use CacheLifetime::{Immutable, Minute, Short};
        check(Immutable.public(), "public, max-age=31536000, immutable", None);
        check(Short.public(), "public, max-age=2", None);
        check(Minute.public(), "public, max-age=60", None);
        check(Immutable.private(), "private, max-age=60", None);
        check(Short.private(), "private, max-age=2", None);
        check(Minute.private(), "private, max-age=60", None);
        for none in [Immutable, Short, Minute] {
            assert_eq!(none.for_signed_path(None, None), none.private());
            assert_eq!(none.for_signed_path(Some(60), None), none.private());
        }
        let signed_policy =
            |lifetime: CacheLifetime, left_s| lifetime.for_signed_path(Some(left_s), Some(left_s.min(600)));
        check(signed_policy(Immutable, 3600), "public, max-age=60, s-maxage=600", None);
        check(signed_policy(Short, 3600), "private, max-age=2", None);
        check(signed_policy(Minute, 3600), "private, max-age=60", None);
        // No cache stores it longer than its path is valid.
        check(signed_policy(Immutable, 59), "public, max-age=59, s-maxage=59", None);
        check(signed_policy(Minute, 59), "private, max-age=59", None);
        check(signed_policy(Short, 1), "private, max-age=1", None);
        check(signed_policy(Immutable, 0), "public, max-age=0, s-maxage=0", None);
        check(Immutable.for_signed_path(Some(7), None), "private, max-age=7", None);
        let vary_policy = |page, user_agent| {
            Immutable.private().vary_on(VaryOn { page, user_agent, accept_encoding: false })
        };
        check(vary_policy(true, false), "private, max-age=60", Some("Origin, Referer"));
        check(vary_policy(false, true), "private, max-age=60", Some("User-Agent"));
        check(vary_policy(true, true), "private, max-age=60", Some("Origin, Referer, User-Agent"));
        check(Short.public().vary_on_encoding(), "public, max-age=2", Some("Accept-Encoding"));
        let all = vary_policy(true, true).vary_on_encoding();
        check(all, "private, max-age=60", Some("Origin, Referer, User-Agent, Accept-Encoding"));
    }

    #[test]
    fn if_none_match_and_if_range_compare_etags() {
        let content = |etag: &str| Content {
            content_type: "text/plain",
            etag: etag.into(),
            policy: ResponsePolicy::unmetered(IMMUTABLE.into()),
            len: 10,
            playing_time_us: 0,
        };
        let (content, weak) = (content("\"a-1\""), content("W/\"a-1\""));
        let with = |name: HeaderName, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            headers
        };
        let is_not_modified =
            |request: &HeaderMap| not_modified(request, &content.etag, content.policy.cache_policy).is_some();
        assert!(is_not_modified(&with(header::IF_NONE_MATCH, "\"x\", W/\"a-1\"")));
        assert!(is_not_modified(&with(header::IF_NONE_MATCH, "*")));
        assert!(!is_not_modified(&with(header::IF_NONE_MATCH, "\"a-2\"")));
        let is_match = |value| {
            not_modified_by_tag(
                &with(header::IF_NONE_MATCH, value),
                &content.etag,
                content.policy.cache_policy,
            )
            .is_some()
        };
        assert!(is_match("\"x\", W/\"a-1\""));
        assert!(!is_match("*, \"a-1\""), "a malformed list is no condition");
        assert!(!is_match("*") && !is_match("\"a-2\""), "it is not known yet whether it exists");
        assert!(!is_not_modified(&HeaderMap::new()));
        assert!(content.matches_if_range(&HeaderMap::new()));
        assert!(content.matches_if_range(&with(header::IF_RANGE, "\"a-1\"")));
        assert!(!content.matches_if_range(&with(header::IF_RANGE, "W/\"a-1\"")));
        // Bytes with a weak tag may differ: no range continues them, but a cached copy is valid.
        assert!(weak.matches_if_range(&HeaderMap::new()));
        for tag in ["\"a-1\"", "W/\"a-1\""] {
            assert!(!weak.matches_if_range(&with(header::IF_RANGE, tag)), "{tag}");
            let request = with(header::IF_NONE_MATCH, tag);
            assert!(not_modified(&request, &weak.etag, weak.policy.cache_policy).is_some(), "{tag}");
        }
    }
}
