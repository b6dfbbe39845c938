//! The page that a browser shows at the address of an upload.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::UploadClaims;
use kinora_web::error::ApiError;

use crate::UploadRouterState;

/// The page below `web/dist`.
const PAGE: &str = "upload.html";

/// Whether the client is a browser that wants a page.
pub(super) fn accepts_html(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::GET && accepts(headers, "text/html")
}

/// Whether a script requests the status of the upload.
pub(super) fn accepts_json(headers: &HeaderMap) -> bool {
    accepts(headers, "application/json") && !accepts(headers, "text/html")
}

/// A page that sends a file to its own address. For an address that cannot be used the same page shows the
/// reason, with the matching status.
///
/// The address is a secret: it is not sent to any resource that the page loads or links to, and no cache
/// stores it.
pub(super) fn show(app: &UploadRouterState, claims: Option<&UploadClaims>, status: StatusCode) -> Response {
    let Some(page) = app.assets.get(PAGE) else { return ApiError::no_such_path().into_response() };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::CONTENT_SECURITY_POLICY, policy(app, claims)),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (status, headers, page.into_owned()).into_response()
}

/// Nothing from outside except the player page; pages of the allowed origin may frame it.
fn policy(app: &UploadRouterState, claims: Option<&UploadClaims>) -> HeaderValue {
    let player = &app.addresses.public;
    let frames = claims.map_or("", |path_claims| path_claims.origin.as_str());
    let text = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         frame-src 'self' {player}; base-uri 'none'; form-action 'none'; frame-ancestors 'self' {frames}"
    );
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("default-src 'self'"))
}

/// Whether `Accept` names a type. Weights do not matter here: browsers name `text/html` for pages alone.
fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).any(|value| {
        let mut types = value.split(',').map(|part| part.split(';').next().unwrap_or("").trim());
        types.any(|entry| entry.eq_ignore_ascii_case(media_type))
    })
}

#[cfg(test)]
mod tests {
    use super::super::request_headers::headers;
    use super::*;

    #[test]
    fn accept_header_selects_page_or_json() {
        let check = |accept: &[&str], page: bool, status: bool| {
            let pairs: Vec<_> = accept.iter().map(|accept| ("accept", *accept)).collect();
            let headers = headers(&pairs);
            assert_eq!(accepts_html(&Method::GET, &headers), page, "{accept:?}");
            assert_eq!(accepts_json(&headers), status, "{accept:?}");
            assert!(!accepts_html(&Method::PUT, &headers) && !accepts_html(&Method::HEAD, &headers));
        };
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
        check(&[browser], true, false);
        check(&["Application/JSON"], false, true);
        check(&["text/plain, application/json;q=0.5"], false, true);
        check(&["application/json, text/html"], true, false);
        check(&["application/json", "text/html"], true, false);
        check(&["*/*"], false, false);
        check(&["application/jsonlines"], false, false);
        check(&[], false, false);
    }
}
