//! The page of the dashboard, the same bytes for all people.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use kinora_web::assets::{CodedFile, coded_file};
use kinora_web::entity_tag::EntityTags;
use kinora_web::error::ApiError;
use kinora_web::gzip;
use sha2::{Digest as _, Sha256};

use crate::DashboardState;
use crate::origin::origin_of;

/// The page, below `web/dist`.
const PAGE: &str = "dashboard.html";
/// Bytes of the hash in an entity tag.
const TAG_BYTES: usize = 16;

const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");

/// `GET /dashboard` and all below it that is no operation: the page, which reads its address itself.
pub(crate) async fn page(
    State(app): State<DashboardState>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let file = coded_file(&*app.assets, PAGE, &request).ok_or_else(ApiError::no_such_path)?;
    let CodedFile { bytes, coding, has_codings } = file;
    let etag = entity_tag(&bytes);
    let vary = has_codings.then_some([(header::VARY, gzip::VARY)]);
    let cached = [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ETAG, HeaderValue::from_str(&etag).expect("hexadecimal digits")),
    ];
    if has_current(&request, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, cached, vary, ()).into_response());
    }
    let coding = coding.map(|coding| [(header::CONTENT_ENCODING, coding.to_header())]);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, content_security_policy(&app.base_urls.public)),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin")),
        (PERMISSIONS_POLICY, HeaderValue::from_static("camera=(), microphone=(), geolocation=()")),
    ];
    Ok((cached, headers, coding, vary, bytes.into_owned()).into_response())
}

/// The tag of these bytes: each coding has its own (RFC 9110, 8.8.3.2).
fn entity_tag(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let mut tag = String::from("\"");
    for byte in &hash[..TAG_BYTES] {
        write!(tag, "{byte:02x}").expect("a text takes everything");
    }
    tag + "\""
}

/// Whether the client has the bytes of this tag.
fn has_current(request: &HeaderMap, etag: &str) -> bool {
    match EntityTags::of(request, &header::IF_NONE_MATCH) {
        Ok(Some(EntityTags::Any)) => true,
        Ok(Some(EntityTags::List(tags))) => tags.iter().any(|tag| tag.matches_weakly(etag)),
        Ok(None) | Err(_) => false,
    }
}

/// The `Content-Security-Policy` of the page. No inline script and no inline style; nothing frames it.
///
/// Uploads and the player page are at the public URL, whose origin may differ from that in the address bar.
fn content_security_policy(public_url: &str) -> HeaderValue {
    let public = origin_of(public_url).unwrap_or_default();
    let text = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self' {public}; frame-src 'self' {public}; form-action 'none'; base-uri 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    );
    HeaderValue::from_str(&text)
        .unwrap_or(HeaderValue::from_static("default-src 'self'; frame-ancestors 'none'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_url_is_a_source_of_connections_and_frames_alone() {
        let policy = content_security_policy("https://video.example.com/base");
        let policy = policy.to_str().unwrap();
        assert_eq!(policy.matches("https://video.example.com").count(), 2, "{policy}");
        assert!(policy.contains("connect-src 'self' https://video.example.com; frame-src"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("/base"), "{policy}");
    }

    #[test]
    fn entity_tag_depends_on_the_bytes() {
        assert_eq!(entity_tag(b"a"), "\"ca978112ca1bbdcafac231b39a23dc4d\"");
        assert_ne!(entity_tag(b"a"), entity_tag(b"b"));
    }
}
