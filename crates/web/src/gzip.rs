//! Texts in gzip, for clients that accept it (RFC 9110, 8.4 and 12.5.3; D-0115).
//!
//! Playlists, subtitles and JSON shrink to a tenth; segments and images are compressed already and are sent
//! as they are.

use std::io::Write as _;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use moka::future::Cache;

use crate::around::{Answering, Below, answer_by, answer_of, hand_on};
use crate::entity_tag::EntityTags;

/// Bytes of the shortest text that is compressed: a shorter one fits into one packet of the network in any
/// case.
pub const LEN_MIN: usize = 1 << 10;
/// Bytes of the longest text that is compressed on the thread of its request, in half a millisecond.
const INLINE_LEN_MAX: usize = 32 << 10;
/// The playlist of 12 h, 291 KB, becomes 32 KB in 5 ms. Level 6 takes 7 ms and saves 1 % more.
const LEVEL: Compression = Compression::new(4);
/// What an entity tag of the compressed bytes ends with: two codings of one text have two tags (RFC 9110,
/// 8.8.3.2).
const TAG_END: &[u8] = b"-gzip\"";

/// Value of `Content-Encoding`.
pub const GZIP: HeaderValue = HeaderValue::from_static("gzip");
/// Value of `Vary` where nothing else decides.
pub const VARY: HeaderValue = HeaderValue::from_static("Accept-Encoding");

/// Whether a client would rather have gzip than the text as it is.
pub fn is_accepted(request: &HeaderMap) -> bool {
    let (mut gzip, mut any, mut identity) = (None, None, None);
    let values = request.get_all(header::ACCEPT_ENCODING).iter();
    for part in values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
        let (coding, parameters) = part.split_once(';').unwrap_or((part, ""));
        let weight = weight(parameters);
        match coding.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => gzip = Some(weight),
            "*" => any = Some(weight),
            "identity" => identity = Some(weight),
            _ => {}
        }
    }
    let gzip = gzip.or(any).unwrap_or(0.0);
    0.0 < gzip && identity.is_none_or(|identity| identity <= gzip)
}

/// RFC 9110, 12.4.2. What is no weight refuses.
fn weight(parameters: &str) -> f32 {
    let Some((name, value)) = parameters.split_once('=') else {
        return if parameters.trim().is_empty() { 1.0 } else { 0.0 };
    };
    let value = value.trim().parse().ok().filter(|weight| (0.0..=1.0).contains(weight));
    value.filter(|_| name.trim().eq_ignore_ascii_case("q")).unwrap_or(0.0)
}

/// The tag of the compressed bytes of what has this tag.
pub fn tag(etag: &str) -> String {
    format!("{}-gzip\"", etag.strip_suffix('"').unwrap_or(etag))
}

/// The tag of the text, where this is that of its compressed bytes.
pub(crate) fn tag_of_text(tag: &[u8]) -> Option<Vec<u8>> {
    tag.strip_suffix(TAG_END).map(|text| [text, b"\""].concat())
}

/// Compressed texts by the tags of the texts, which are other ones for other texts. So a playlist is
/// compressed once, not for each viewer.
pub struct GzipCache(Cache<String, Bytes>);

impl Default for GzipCache {
    fn default() -> Self {
        Self::new()
    }
}

impl GzipCache {
    /// A thousand playlists of media of some hours.
    const BYTES_MAX: u64 = 16 << 20;

    pub(crate) fn new() -> Self {
        let weigh = |tag: &String, bytes: &Bytes| u32::try_from(tag.len() + bytes.len()).unwrap_or(u32::MAX);
        Self(Cache::builder().max_capacity(Self::BYTES_MAX).weigher(weigh).build())
    }

    /// The compressed bytes of the text that has this tag. Requests for one text share one compression.
    pub async fn get(&self, etag: &str, text: &Bytes) -> Bytes {
        match self.0.get(etag).await {
            Some(bytes) => bytes,
            None => self.0.get_with(etag.to_owned(), compress(text.clone())).await,
        }
    }
}

/// Compresses a text.
pub(crate) async fn compress(text: Bytes) -> Bytes {
    if text.len() <= INLINE_LEN_MAX {
        return write(&text);
    }
    let compressed = {
        let text = text.clone();
        tokio::task::spawn_blocking(move || write(&text)).await
    };
    // A server that stops begins nothing more on its threads.
    compressed.unwrap_or_else(|_| write(&text))
}

fn write(text: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), LEVEL);
    let written = encoder.write_all(text).and_then(|()| encoder.finish());
    Bytes::from(written.expect("memory takes everything"))
}

/// Compresses what the API answers to `GET`: a list, a media with its tracks.
///
/// Answers to changes stay as they are: they are short, one of them holds a private key, and their tags are
/// those of the text. Other requests are handed on as if there were no layer.
pub fn answers(cache: &Arc<GzipCache>, request: Request, below: &mut Below) -> Answering {
    if !matches!(*request.method(), Method::GET | Method::HEAD) || !is_accepted(request.headers()) {
        return hand_on(request, below);
    }
    let cache = Arc::clone(cache);
    let known = EntityTags::of(request.headers(), &header::IF_NONE_MATCH);
    let answer = answer_of(request, below);
    answer_by(async move {
        let mut response = answer.await;
        if response.status() == axum::http::StatusCode::NOT_MODIFIED {
            if let Ok(Some(known)) = &known {
                name_what_is_known(&mut response, known);
            }
            return response;
        }
        if !response.status().is_success() || !is_long_json(&response) {
            return response;
        }
        let (mut parts, body) = response.into_parts();
        let text = body.collect().await.expect("it is in memory").to_bytes();
        let etag = parts.headers.get(header::ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        let bytes = match &etag {
            Some(etag) => cache.get(etag, &text).await,
            None => compress(text).await,
        };
        if let Some(etag) = etag {
            let etag = HeaderValue::from_str(&tag(&etag)).expect("it was a tag before");
            parts.headers.insert(header::ETAG, etag);
        }
        parts.headers.insert(header::CONTENT_ENCODING, GZIP);
        parts.headers.insert(header::VARY, VARY);
        parts.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(parts, bytes.into())
    })
}

/// A 304 names the representation that the client has: the compressed one, where it said so.
fn name_what_is_known(response: &mut Response, known: &EntityTags) {
    let Some(etag) = response.headers().get(header::ETAG).and_then(|etag| etag.to_str().ok()) else { return };
    let etag = tag(etag);
    if known.tags().iter().any(|known| known.is_weakly(&etag)) {
        let etag = HeaderValue::from_str(&etag).expect("it was a tag before");
        response.headers_mut().insert(header::ETAG, etag);
        response.headers_mut().insert(header::VARY, VARY);
    }
}

fn is_long_json(response: &Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value == "application/json")
        && !response.headers().contains_key(header::CONTENT_ENCODING)
        && response.body().size_hint().exact().is_some_and(|len| LEN_MIN as u64 <= len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_encoding_is_weighed() {
        let check = |values: &[&'static str], expected: bool| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            }
            assert_eq!(is_accepted(&headers), expected, "{values:?}");
        };
        check(&["gzip"], true);
        check(&["gzip, deflate, br, zstd"], true);
        check(&["br", "GZIP ; Q=0.5"], true);
        check(&["x-gzip"], true);
        check(&["*"], true);
        check(&["identity;q=0.5, *;q=0.5"], true);
        check(&["identity;q=0, gzip;q=0.001"], true);
        check(&[], false);
        check(&[""], false);
        check(&["identity"], false);
        check(&["br"], false);
        check(&["gzip;q=0"], false);
        check(&["gzip;q=0.000, *"], false);
        check(&["*;q=0"], false);
        check(&["gzip;q=0.5, identity"], false);
        check(&["gzip;q=x"], false);
        check(&["gzip;q=2"], false);
        check(&["gzip;level=1"], false);
        check(&["gzipped"], false);
    }

    #[test]
    fn codings_have_different_tags() {
        assert_eq!(tag("\"a-1\""), "\"a-1-gzip\"");
        assert_eq!(tag_of_text(b"\"a-1-gzip\"").as_deref(), Some(b"\"a-1\"".as_slice()));
        assert_eq!(tag_of_text(b"\"a-1\""), None);
    }

    #[tokio::test]
    async fn cached_text_is_compressed_once() {
        let cache = GzipCache::new();
        let text = Bytes::from("#EXTINF:4.000000,\n".repeat(5000));
        let first = cache.get("\"a\"", &text).await;
        assert!(first.len() * 10 < text.len(), "{} of {} bytes", first.len(), text.len());
        // The very bytes in memory, not equal ones.
        assert_eq!(cache.get("\"a\"", &text).await.as_ptr(), first.as_ptr());
        assert_ne!(cache.get("\"b\"", &text).await.as_ptr(), first.as_ptr());
    }
}
