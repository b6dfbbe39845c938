//! Observability of a request: its id, one log line, its count and duration.

mod metrics;
mod request_id;

use std::sync::Arc;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse as _;
use futures_util::FutureExt as _;
use futures_util::future::{Either, ready};
use kinora_domain::Random;
use tracing::Instrument as _;

use crate::error::ApiError;
use crate::middleware::{Next, ResponseFuture, next_response, respond_with};
use crate::routes::MetricsRoute;
use crate::serve::NoHost;
use request_id::is_usable;

use metrics::RequestMetrics;
use request_id::RequestIds;

pub(crate) use request_id::LEN_MAX as ID_LEN_MAX;

/// Generates request ids and counts requests.
pub struct Observer {
    ids: RequestIds,
    request_metrics: RequestMetrics,
}

impl Observer {
    /// The observer of one process.
    pub fn new(random: &dyn Random) -> Self {
        Self { ids: RequestIds::new(random), request_metrics: RequestMetrics::default() }
    }
}

/// The id of a request, as an extension of it. The response and the log have it too.
#[derive(Debug, Clone)]
pub struct RequestId(pub HeaderValue);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Uses the request id of the client or generates one, runs the request, adds the id to the response and logs
/// one line (C-25).
///
/// The line names the route and not the path: a playback ID is the whole secret of a public media.
pub fn observe(observer: &Arc<Observer>, mut request: Request, next: &mut Next) -> ResponseFuture {
    let started = tokio::time::Instant::now();
    let id = request.headers().get(&REQUEST_ID).filter(|id| is_usable(id)).cloned();
    let id = id.unwrap_or_else(|| observer.ids.next());
    request.extensions_mut().insert(RequestId(id.clone()));
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let span = tracing::info_span!("request", request.id = id.to_str().unwrap_or(""));

    let observer = Arc::clone(observer);
    let response_future = match request.extensions().get() {
        None => Either::Left(span.in_scope(|| next_response(request, next))),
        Some(NoHost) => {
            let rejection = ApiError::bad_request("the request must have exactly one Host header");
            Either::Right(ready(rejection.into_response()))
        }
    };
    respond_with(async move {
        let result =
            std::panic::AssertUnwindSafe(response_future).catch_unwind().instrument(span.clone()).await;
        let mut response =
            result.unwrap_or_else(|_| span.in_scope(|| ApiError::internal(&Panicked).into_response()));
        response.headers_mut().insert(REQUEST_ID, id);
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));

        let route = matched.as_ref().map_or("none", MatchedPath::as_str);
        let (status, elapsed) = (response.status(), started.elapsed());
        let metrics_route =
            response.extensions().get::<MetricsRoute>().map_or(route, |MetricsRoute(route)| route);
        observer.request_metrics.record(metrics_route, &method, status, elapsed);
        let _entered = span.enter();
        tracing::info!(
            http.method = %method,
            http.route = route,
            http.status = status.as_u16(),
            // Three decimals: most responses take less than a millisecond.
            duration_ms = elapsed.as_micros() as f64 / 1000.0,
            "answered"
        );
        response
    })
}

#[derive(Debug, thiserror::Error)]
#[error("a handler panicked")]
struct Panicked;
