//! Bytes with a known length: conditions, ranges, caching (RFC 9110, 13 and 14).

use std::ops::Range;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use kinora_web::entity_tag::EntityTags;
use kinora_web::gzip;
use sha2::{Digest as _, Sha256};

use super::counted::Account;
use super::range::RequestedRange;
use crate::DeliveryState;
use crate::error;

/// In front of a tag that stands for bytes that are as good, not for the same ones (RFC 9110, 8.8.1).
pub(super) const WEAK: &str = "W/";

/// Bytes as lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is about to be sent.
pub(super) struct Content {
    /// MIME type.
    pub(super) content_type: &'static str,
    /// Value of `ETag`, with its quotes: the same bytes always have the same one, unless it begins with
    /// [`WEAK`].
    pub(super) etag: String,
    /// How it may be kept, and for whom it counts.
    pub(super) terms: Terms,
    /// Length of the whole.
    pub(super) len: u64,
    /// How long the whole plays, in microseconds; 0 of what does not play by itself.
    pub(super) plays_us: u64,
}

/// On which terms something is given.
#[derive(Clone)]
pub(super) struct Terms {
    /// How it may be kept.
    pub(super) keeping: Keeping,
    /// For whom it counts; `None` of what belongs to no media.
    pub(super) account: Option<Account>,
}

/// For what never changes under its address (C-13).
pub(super) const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// How what lies below a playback ID may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caching {
    /// It never changes under its address (C-13).
    Immutable,
    /// A change of the media must reach it within 2 s.
    Short,
    /// It may be a minute old.
    Minute,
}

impl Caching {
    /// Of what everybody may have.
    pub(super) fn for_everybody(self) -> Keeping {
        match self {
            Self::Immutable => IMMUTABLE,
            Self::Short => "public, max-age=2",
            Self::Minute => "public, max-age=60",
        }
        .into()
    }

    /// Of what not everybody may have: by its viewer alone, and not for long, so that what is taken back is
    /// soon gone (C-13).
    pub(super) fn for_one(self) -> Keeping {
        Keeping { control: Control::Own(self.own_s()), asks: Asks::default() }
    }

    /// For how many seconds a viewer keeps it at most.
    fn own_s(self) -> u32 {
        match self {
            Self::Immutable | Self::Minute => 60,
            Self::Short => 2,
        }
    }

    /// Of what only those may have who know its signed path, and all of them alike: where an operator allows
    /// it, by caches in between, for so many seconds (D-0090). What may change under its path is not
    /// shared, nor what people ask for with a token. Nobody keeps it for longer than the signature of its
    /// path holds, `left_s` seconds.
    pub(super) fn for_those_who_know(self, left_s: Option<u32>, shared_s: Option<u32>) -> Keeping {
        let own_s = left_s.map_or(self.own_s(), |left_s| left_s.min(self.own_s()));
        let control = match (self, shared_s) {
            (Self::Immutable, Some(shared_s)) => Control::Shared { own_s, shared_s },
            _ => Control::Own(own_s),
        };
        Keeping { control, asks: Asks::default() }
    }
}

/// How an answer may be kept, as its headers say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Keeping {
    control: Control,
    asks: Asks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Control {
    Fixed(&'static str),
    /// By its viewer alone, for so many seconds.
    Own(u32),
    /// By its viewer for so many seconds, by caches in between for so many.
    Shared {
        own_s: u32,
        shared_s: u32,
    },
}

/// By which headers of the request rules decide, so that no cache takes the answer to one viewer for that to
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asks {
    /// Those that tell a page.
    pub(super) page: bool,
    /// The one that tells a player.
    pub(super) user_agent: bool,
    /// The one that tells which codings a client reads.
    pub(super) coding: bool,
}

impl Asks {
    /// Value of `Vary` (RFC 9110, 12.5.5).
    pub(super) fn vary(self) -> Option<&'static str> {
        match (self.page, self.user_agent, self.coding) {
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

impl Keeping {
    /// Of what rules decide by these headers.
    pub(super) fn asking(self, asks: Asks) -> Self {
        Self { asks, ..self }
    }

    /// The same of a text that is sent in several codings.
    fn by_coding(self) -> Self {
        Self { asks: Asks { coding: true, ..self.asks }, ..self }
    }

    /// Sets the headers.
    pub(super) fn put(self, headers: &mut HeaderMap) {
        let control = match self.control {
            Control::Fixed(control) => HeaderValue::from_static(control),
            // Of most answers.
            Control::Own(60) => HeaderValue::from_static("private, max-age=60"),
            Control::Own(seconds) => digits(&format!("private, max-age={seconds}")),
            Control::Shared { own_s, shared_s } => {
                digits(&format!("public, max-age={own_s}, s-maxage={shared_s}"))
            }
        };
        headers.insert(header::CACHE_CONTROL, control);
        if let Some(vary) = self.asks.vary() {
            headers.insert(header::VARY, HeaderValue::from_static(vary));
        }
    }
}

fn digits(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).expect("made of words and digits")
}

impl From<&'static str> for Keeping {
    fn from(control: &'static str) -> Self {
        Self { control: Control::Fixed(control), asks: Asks::default() }
    }
}

impl Terms {
    /// Of what belongs to no media, and counts for nobody.
    pub(super) fn of_nobody(keeping: Keeping) -> Self {
        Self { keeping, account: None }
    }
}

/// Bytes that are in memory already.
pub(super) fn send(
    request: &HeaderMap,
    bytes: Bytes,
    content_type: &'static str,
    etag: String,
    terms: Terms,
) -> Response {
    let content = Content { content_type, etag, terms, len: bytes.len() as u64, plays_us: 0 };
    content.answer(request, |range| Body::from(part(bytes, range)))
}

/// These bytes of all.
pub(super) fn part(bytes: Bytes, range: Range<u64>) -> Bytes {
    let at =
        |position: u64| usize::try_from(position).map_or(bytes.len(), |position| position.min(bytes.len()));
    bytes.slice(at(range.start)..at(range.end))
}

/// A text that is in memory already, compressed where that is worth it and the client accepts it. `etag` is
/// that of the text.
///
/// A range is one of the text as it is: a client that asks for one, with the tag of the compressed text in
/// `If-Range`, gets all of the text.
pub(super) async fn send_text(
    app: &DeliveryState,
    request: &HeaderMap,
    text: Bytes,
    content_type: &'static str,
    etag: String,
    terms: Terms,
) -> Response {
    if text.len() < gzip::LEN_MIN {
        return send(request, text, content_type, etag, terms);
    }
    let terms = Terms { keeping: terms.keeping.by_coding(), ..terms };
    if request.contains_key(header::RANGE) || !gzip::is_accepted(request) {
        return send(request, text, content_type, etag, terms);
    }
    let packed_etag = gzip::tag(&etag);
    if let Some(known) = known(request, &packed_etag, terms.keeping) {
        return known;
    }
    let packed = app.gzip.get(&etag, &text).await;
    let mut response = send(request, packed, content_type, packed_etag, terms);
    response.headers_mut().insert(header::CONTENT_ENCODING, gzip::GZIP);
    response
}

/// The same of a text that is another one tomorrow: its tag is its hash.
pub(super) async fn send_changing_text(
    app: &DeliveryState,
    request: &HeaderMap,
    text: Bytes,
    content_type: &'static str,
    terms: Terms,
) -> Response {
    let etag = format!("\"{}\"", hex(&Sha256::digest(&text)[..16]));
    send_text(app, request, text, content_type, etag, terms).await
}

impl Content {
    /// Answers a request: 304 when the client has it, 206 for one range, 416 for one outside, else 200.
    ///
    /// `body` makes the bytes of the range it is given.
    pub(super) fn answer(self, request: &HeaderMap, body: impl FnOnce(Range<u64>) -> Body) -> Response {
        if let Some(known) = known(request, &self.etag, self.terms.keeping) {
            return known;
        }
        let common = common(&self.etag, self.terms.keeping);
        let wanted = if self.is_range_wanted(request) {
            RequestedRange::of(request, self.len)
        } else {
            RequestedRange::Whole
        };
        let (status, range) = match wanted {
            RequestedRange::Whole => (StatusCode::OK, 0..self.len),
            RequestedRange::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
            RequestedRange::Outside => {
                let mut response = error::range_not_satisfiable().into_response();
                let range = format!("bytes */{}", self.len);
                let value = HeaderValue::from_str(&range).expect("made of digits");
                response.headers_mut().insert(header::CONTENT_RANGE, value);
                return response;
            }
        };
        let body = body(range.clone());
        let body = match self.terms.account {
            Some(account) => account.count(body, self.len, self.plays_us),
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

    /// RFC 9110, 13.1.5: a range is given only of the very bytes the client began with.
    fn is_range_wanted(&self, request: &HeaderMap) -> bool {
        match request.get(header::IF_RANGE) {
            None => true,
            // A weak tag never does (RFC 9110, 8.8.3.2).
            Some(value) => !self.etag.starts_with(WEAK) && value.as_bytes() == self.etag.as_bytes(),
        }
    }
}

/// The answer to a client that has what this tag names, so that nothing need be made for it; `None` to every
/// other.
pub(super) fn known(request: &HeaderMap, etag: &str, caching: Keeping) -> Option<Response> {
    is_known(request, etag).then(|| (StatusCode::NOT_MODIFIED, common(etag, caching)).into_response())
}

/// The same before it is known whether there is anything: only a client that names the tag had it, `*`
/// matches what is there.
pub(super) fn had(request: &HeaderMap, etag: &str, caching: Keeping) -> Option<Response> {
    let had = if_none_match(request)?.tags().iter().any(|tag| tag.is_weakly(etag));
    had.then(|| (StatusCode::NOT_MODIFIED, common(etag, caching)).into_response())
}

/// What a 304 says, too. RFC 9110, 15.4.5.
fn common(etag: &str, caching: Keeping) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::ETAG, HeaderValue::from_str(etag).expect("made of hex digits and words"));
    caching.put(&mut headers);
    headers
}

/// RFC 9110, 13.1.2: weak comparison, and `*` matches what exists.
fn is_known(request: &HeaderMap, etag: &str) -> bool {
    if_none_match(request).is_some_and(|list| match list {
        EntityTags::Any => true,
        EntityTags::List(tags) => tags.iter().any(|tag| tag.is_weakly(etag)),
    })
}

/// A malformed list is no condition: the client gets the bytes.
fn if_none_match(request: &HeaderMap) -> Option<EntityTags> {
    EntityTags::of(request, &header::IF_NONE_MATCH).ok().flatten()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    #[test]
    fn only_what_never_changes_under_a_signed_path_is_kept_in_between() {
        let check = |keeping: Keeping, control: &str, vary: Option<&str>| {
            let mut headers = HeaderMap::new();
            keeping.put(&mut headers);
            let value = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap());
            assert_eq!((value(header::CACHE_CONTROL), value(header::VARY)), (Some(control), vary));
        };
        use Caching::{Immutable, Minute, Short};
        check(Immutable.for_everybody(), "public, max-age=31536000, immutable", None);
        check(Short.for_everybody(), "public, max-age=2", None);
        check(Minute.for_everybody(), "public, max-age=60", None);
        check(Immutable.for_one(), "private, max-age=60", None);
        check(Short.for_one(), "private, max-age=2", None);
        check(Minute.for_one(), "private, max-age=60", None);
        for none in [Immutable, Short, Minute] {
            assert_eq!(none.for_those_who_know(None, None), none.for_one());
            assert_eq!(none.for_those_who_know(Some(60), None), none.for_one());
        }
        let know = |caching: Caching, left_s| caching.for_those_who_know(Some(left_s), Some(left_s.min(600)));
        check(know(Immutable, 3600), "public, max-age=60, s-maxage=600", None);
        check(know(Short, 3600), "private, max-age=2", None);
        check(know(Minute, 3600), "private, max-age=60", None);
        // Nobody keeps it for longer than its path holds.
        check(know(Immutable, 59), "public, max-age=59, s-maxage=59", None);
        check(know(Minute, 59), "private, max-age=59", None);
        check(know(Short, 1), "private, max-age=1", None);
        check(know(Immutable, 0), "public, max-age=0, s-maxage=0", None);
        check(Immutable.for_those_who_know(Some(7), None), "private, max-age=7", None);
        let asking = |page, user_agent| Immutable.for_one().asking(Asks { page, user_agent, coding: false });
        check(asking(true, false), "private, max-age=60", Some("Origin, Referer"));
        check(asking(false, true), "private, max-age=60", Some("User-Agent"));
        check(asking(true, true), "private, max-age=60", Some("Origin, Referer, User-Agent"));
        check(Short.for_everybody().by_coding(), "public, max-age=2", Some("Accept-Encoding"));
        let all = asking(true, true).by_coding();
        check(all, "private, max-age=60", Some("Origin, Referer, User-Agent, Accept-Encoding"));
    }

    #[test]
    fn conditions_compare_the_tag() {
        let content = |etag: &str| Content {
            content_type: "text/plain",
            etag: etag.into(),
            terms: Terms::of_nobody(IMMUTABLE.into()),
            len: 10,
            plays_us: 0,
        };
        let (content, weak) = (content("\"a-1\""), content("W/\"a-1\""));
        let with = |name: HeaderName, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            headers
        };
        let is_known_to =
            |request: &HeaderMap| known(request, &content.etag, content.terms.keeping).is_some();
        assert!(is_known_to(&with(header::IF_NONE_MATCH, "\"x\", W/\"a-1\"")));
        assert!(is_known_to(&with(header::IF_NONE_MATCH, "*")));
        assert!(!is_known_to(&with(header::IF_NONE_MATCH, "\"a-2\"")));
        let had =
            |value| had(&with(header::IF_NONE_MATCH, value), &content.etag, content.terms.keeping).is_some();
        assert!(had("\"x\", W/\"a-1\""));
        assert!(!had("*, \"a-1\""), "a malformed list is no condition");
        assert!(!had("*") && !had("\"a-2\""), "nobody knows yet what there is");
        assert!(!is_known_to(&HeaderMap::new()));
        assert!(content.is_range_wanted(&HeaderMap::new()));
        assert!(content.is_range_wanted(&with(header::IF_RANGE, "\"a-1\"")));
        assert!(!content.is_range_wanted(&with(header::IF_RANGE, "W/\"a-1\"")));
        // Of bytes that may be others nothing is continued, and what somebody has is as good.
        assert!(weak.is_range_wanted(&HeaderMap::new()));
        for tag in ["\"a-1\"", "W/\"a-1\""] {
            assert!(!weak.is_range_wanted(&with(header::IF_RANGE, tag)), "{tag}");
            let request = with(header::IF_NONE_MATCH, tag);
            assert!(known(&request, &weak.etag, weak.terms.keeping).is_some(), "{tag}");
        }
    }
}
