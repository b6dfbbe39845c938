//! What is seen of a request: its id, one line in the log, its count and time.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::app::App;
use crate::error::ApiError;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer ids of clients are replaced by our own.
const REQUEST_ID_MAX: usize = 128;

/// Takes or makes the request id, runs the request, answers the id and writes one line.
///
/// The line names the route and not the path: a playback ID is the whole secret of a public media.
pub(crate) async fn observe(
    State(app): State<App>,
    matched: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let started = tokio::time::Instant::now();
    let id = request
        .headers()
        .get(&REQUEST_ID)
        .filter(|id| is_usable(id))
        .cloned()
        .unwrap_or_else(|| new_id(&app));
    let route = matched.as_ref().map_or("none", MatchedPath::as_str).to_owned();
    let method = request.method().clone();
    let span = tracing::info_span!("request", request.id = id.to_str().unwrap_or(""));

    let ran = std::panic::AssertUnwindSafe(next.run(request)).catch_unwind().instrument(span.clone()).await;
    let mut response = ran.unwrap_or_else(|_| {
        let _entered = span.enter();
        ApiError::internal(&Panicked).into_response()
    });
    response.headers_mut().insert(REQUEST_ID, id);
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));

    let (status, elapsed) = (response.status().as_u16(), started.elapsed());
    let _entered = span.enter();
    tracing::info!(
        http.method = %method,
        http.route = route,
        http.status = status,
        duration_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        "answered"
    );
    let labels = [("method", method.to_string()), ("route", route), ("status", status.to_string())];
    metrics::counter!("kinora_http_requests_total", &labels).increment(1);
    metrics::histogram!("kinora_http_request_seconds", "route" => labels[1].1.clone())
        .record(elapsed.as_secs_f64());
    response
}

#[derive(Debug, thiserror::Error)]
#[error("a handler panicked")]
struct Panicked;

fn is_usable(id: &HeaderValue) -> bool {
    (1..=REQUEST_ID_MAX).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
}

fn new_id(app: &App) -> HeaderValue {
    let mut bytes = [0; 16];
    app.random.fill(&mut bytes);
    let id = Uuid::from_bytes(bytes).simple().to_string();
    HeaderValue::from_str(&id).expect("hex digits are header characters")
}
