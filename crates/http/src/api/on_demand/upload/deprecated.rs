//! The path that clients should leave (specification, Versioning; contract decision 1).

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;

const PATH: &str = "/on-demand/uploads";
const PATH_WITH_VERSION: &str = "/v1/on-demand/uploads";
/// Since when it is deprecated: 2025-07-01, in the form of RFC 9745.
pub(super) const SINCE: &str = "@1751328000";
/// When it may go, at the earliest (RFC 8594): more than a year after this was written.
pub(super) const SUNSET: &str = "Fri, 30 Jun 2028 23:59:59 GMT";

/// Says on every answer of the operation, refusals and answers given before too, that it is deprecated, until when it stays, and what to use.
pub(crate) async fn announce(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_deprecated = request.method() == Method::POST && matches!(path, PATH | PATH_WITH_VERSION);
    let mut response = next.run(request).await;
    if !is_deprecated {
        return response;
    }
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("deprecation"), HeaderValue::from_static(SINCE));
    headers.insert(HeaderName::from_static("sunset"), HeaderValue::from_static(SUNSET));
    let link = format!("<{}/v1/on-demand/upload>; rel=\"successor-version\"", app.addresses.public);
    if let Ok(link) = HeaderValue::from_str(&link) {
        headers.insert(axum::http::header::LINK, link);
    }
    response
}
