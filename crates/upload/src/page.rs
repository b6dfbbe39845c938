//! The page that a browser shows at the address.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::UploadTicket;
use kinora_web::error::ApiError;

use crate::UploadRouterState;

/// The page below `web/dist`.
const PAGE: &str = "upload.html";

/// Whether a person waits for an answer that can be read.
pub(super) fn is_wanted_by(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::GET && accepts(headers, "text/html")
}

/// Whether a script asks how the upload stands.
pub(super) fn is_asked_for_status(headers: &HeaderMap) -> bool {
    accepts(headers, "application/json") && !accepts(headers, "text/html")
}

/// A page that sends a file to its own address. The same one explains an address that is of no use, with the
/// status that says so.
///
/// The address is a secret: nothing that the page loads or links to is told it, and no cache keeps it.
pub(super) fn show(app: &UploadRouterState, ticket: Option<&UploadTicket>, status: StatusCode) -> Response {
    let Some(page) = app.assets.get(PAGE) else { return ApiError::no_such_path().into_response() };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::CONTENT_SECURITY_POLICY, policy(app, ticket)),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (status, headers, page.into_owned()).into_response()
}

/// Nothing from outside but the page that plays; pages of the origin that may send may frame it.
fn policy(app: &UploadRouterState, ticket: Option<&UploadTicket>) -> HeaderValue {
    let player = &app.addresses.public;
    let frames = ticket.map_or("", |ticket| ticket.origin.as_str());
    let text = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         frame-src 'self' {player}; base-uri 'none'; form-action 'none'; frame-ancestors 'self' {frames}"
    );
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("default-src 'self'"))
}

/// Whether a type is named in `Accept`. What weighs how much does not matter here: browsers name `text/html`
/// for pages alone.
fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).any(|value| {
        let mut types = value.split(',').map(|part| part.split(';').next().unwrap_or("").trim());
        types.any(|found| found.eq_ignore_ascii_case(wanted))
    })
}

#[cfg(test)]
mod tests {
    use super::super::given::headers;
    use super::*;

    #[test]
    fn browsers_get_the_page_and_scripts_what_they_ask_for() {
        let check = |accept: &[&str], page: bool, status: bool| {
            let given: Vec<_> = accept.iter().map(|accept| ("accept", *accept)).collect();
            let headers = headers(&given);
            assert_eq!(is_wanted_by(&Method::GET, &headers), page, "{accept:?}");
            assert_eq!(is_asked_for_status(&headers), status, "{accept:?}");
            assert!(!is_wanted_by(&Method::PUT, &headers) && !is_wanted_by(&Method::HEAD, &headers));
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
