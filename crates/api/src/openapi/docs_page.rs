//! The page that shows the document to people.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use kinora_web::error::ApiError;

use super::OpenApiState;

/// The page below `web/dist`.
const PAGE: &str = "docs.html";

/// Value of `Content-Security-Policy`: the page loads nothing from other origins. It needs only the document
/// of this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /docs`: every operation, with its examples.
pub(super) async fn page(State(state): State<Arc<OpenApiState>>) -> Result<Response, ApiError> {
    let page = state.assets.get(PAGE).ok_or_else(ApiError::no_such_path)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((headers, page.into_owned()).into_response())
}
