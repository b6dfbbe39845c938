//! The deprecated path (C-1, C-145).

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::response::Response;
use kinora_domain::Upload;
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::RenderedResponse;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::idempotency::IdempotentRequest;

use super::create;
use crate::ApiState;

const PATH: &str = "/on-demand/uploads";
/// Start of the deprecation: 2025-07-01, in the form of RFC 9745.
pub(super) const SINCE: &str = "@1751328000";
/// Earliest time of the removal (RFC 8594): more than a year after this was written.
pub(super) const SUNSET: &str = "Fri, 30 Jun 2028 23:59:59 GMT";

/// `POST /on-demand/uploads`: as `POST /on-demand/upload`, for a file of at most 500 MB (C-145).
pub(super) async fn create_limited(
    State(app): State<ApiState>,
    caller: WriteCaller,
    idempotent_request: IdempotentRequest,
    JsonBody(body): JsonBody,
) -> Result<RenderedResponse, ApiError> {
    create::register(&app, caller, idempotent_request, &body, Some(Upload::DEPRECATED_SIZE_MAX)).await
}

/// Whether the request is for the deprecated operation.
pub(crate) fn is_deprecated(method: &Method, operation: &str) -> bool {
    method == Method::POST && operation == PATH
}

/// Adds headers to a response of the operation: that it is deprecated, its earliest removal, and its
/// replacement.
pub(crate) fn add_deprecation_headers(app: &ApiState, response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("deprecation"), HeaderValue::from_static(SINCE));
    headers.insert(HeaderName::from_static("sunset"), HeaderValue::from_static(SUNSET));
    let link = format!("<{}/v1/on-demand/upload>; rel=\"successor-version\"", app.base_urls.public);
    if let Ok(link) = HeaderValue::from_str(&link) {
        headers.insert(axum::http::header::LINK, link);
    }
}
