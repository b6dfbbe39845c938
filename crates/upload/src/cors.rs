//! CORS headers for browsers (C-153), and the response to `OPTIONS`.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::{CorsOrigin, UploadClaims};
use kinora_web::preflight::allowed_headers;

use super::{draft, tus};
use crate::UploadRouterState;

/// All methods of the address, of any protocol.
pub(super) const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
/// Headers of all protocols: a preflight does not reveal the protocol. Other headers are allowed when they
/// are requested.
const REQUEST_HEADERS: &str = "Content-Type, Content-Range, Content-Disposition, X-Goog-Resumable, Tus-Resumable, Upload-Length, \
    Upload-Defer-Length, Upload-Metadata, Upload-Offset, Upload-Checksum, Upload-Concat, Upload-Complete, Upload-Draft-Interop-Version, \
    X-HTTP-Method-Override, X-Request-ID, X-Requested-With";
/// Response headers of all protocols.
const EXPOSED: &str = "Location, Range, Retry-After, X-Request-Id, ETag, Content-Length, Upload-Offset, Upload-Length, Tus-Version, \
    Tus-Resumable, Tus-Max-Size, Tus-Extension, Tus-Checksum-Algorithm, Upload-Expires, Upload-Defer-Length, Upload-Complete, \
    Upload-Draft-Interop-Version, Upload-Limit";
/// Seconds for which a browser may cache the preflight; Chromium takes no more.
const MAX_AGE_S: &str = "7200";

/// Lets scripts of the origin read a response, errors too. Without an upload any origin may read the error:
/// no credentials are used.
pub(super) fn allow(response: &mut Response, origin: Option<CorsOrigin>) {
    let origin = origin.unwrap_or(CorsOrigin::Any);
    let origin = HeaderValue::from_str(origin.as_str()).unwrap_or(HeaderValue::from_static("null"));
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
}

/// 204 that allows the requested headers, independent of the response to the request itself.
pub(super) fn preflight(request: &HeaderMap) -> Response {
    let fixed = [
        (header::ALLOW, METHODS),
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_S),
        (
            HeaderName::from_static("accept-patch"),
            "application/offset+octet-stream, application/partial-upload",
        ),
    ];
    let mut response = (StatusCode::NO_CONTENT, fixed).into_response();
    let allowed = allowed_headers(request, REQUEST_HEADERS);
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    response
}

/// The same, with the capabilities that clients of tus and of the draft read before they begin.
pub(super) fn options(app: &UploadRouterState, claims: &UploadClaims, request: &HeaderMap) -> Response {
    let mut response = preflight(request);
    tus::add_extensions(response.headers_mut(), claims);
    draft::add_limits(response.headers_mut(), claims, claims.expires_at, app.clock.now());
    response
}
