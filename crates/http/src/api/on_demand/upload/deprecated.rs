//! The path that clients should leave (specification, Versioning; contract decision 1).

use axum::extract::{Request, State};
use axum::handler::Handler as _;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;

use super::create::create_limited;
use crate::app::App;

/// Since when it is deprecated: 2025-07-01, in the form of RFC 9745.
pub(super) const SINCE: &str = "@1751328000";
/// When it may go, at the earliest (RFC 8594): more than a year after this was written.
pub(super) const SUNSET: &str = "Fri, 30 Jun 2028 23:59:59 GMT";

/// `POST /on-demand/uploads`: says on every answer, refusals too, that it is deprecated, until when it stays, and what to use.
pub(super) async fn create(State(app): State<App>, request: Request) -> Response {
    let mut response = create_limited.call(request, app.clone()).await;
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("deprecation"), HeaderValue::from_static(SINCE));
    headers.insert(HeaderName::from_static("sunset"), HeaderValue::from_static(SUNSET));
    let link = format!("<{}/v1/on-demand/upload>; rel=\"successor-version\"", app.addresses.public);
    if let Ok(link) = HeaderValue::from_str(&link) {
        headers.insert(axum::http::header::LINK, link);
    }
    response
}
