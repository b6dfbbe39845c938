//! The path that clients should leave (C-1, C-145).

use axum::http::{HeaderName, HeaderValue, Method};
use axum::response::Response;

use crate::ApiState;

const PATH: &str = "/on-demand/uploads";
/// Since when it is deprecated: 2025-07-01, in the form of RFC 9745.
pub(super) const SINCE: &str = "@1751328000";
/// When it may go, at the earliest (RFC 8594): more than a year after this was written.
pub(super) const SUNSET: &str = "Fri, 30 Jun 2028 23:59:59 GMT";

/// Whether this operation is asked for.
pub(crate) fn is_asked_for(method: &Method, operation: &str) -> bool {
    method == Method::POST && operation == PATH
}

/// Says on an answer of the operation that it is deprecated, until when it stays, and what to use.
pub(crate) fn announce(app: &ApiState, response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("deprecation"), HeaderValue::from_static(SINCE));
    headers.insert(HeaderName::from_static("sunset"), HeaderValue::from_static(SUNSET));
    let link = format!("<{}/v1/on-demand/upload>; rel=\"successor-version\"", app.addresses.public);
    if let Ok(link) = HeaderValue::from_str(&link) {
        headers.insert(axum::http::header::LINK, link);
    }
}
