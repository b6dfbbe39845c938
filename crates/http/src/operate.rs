//! What operators and their tools look at.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::app::App;
use crate::envelope::json;

/// `GET /healthz`: the process answers.
pub(crate) async fn healthz() -> Response {
    json(StatusCode::OK, r#"{"status":"ok"}"#)
}

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    roles: Vec<&'static str>,
    checks: Vec<CheckView>,
}

#[derive(Serialize)]
struct CheckView {
    name: &'static str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// `GET /readyz`: 200 when every required part works, else 503. Both name the roles of the process, each
/// part, and the reason where one does not work.
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    let found = app.health.checks().await;
    let ready = found.iter().all(|check| check.problem.is_none() || !check.is_required);
    let checks = found
        .into_iter()
        .map(|check| CheckView { name: check.name, ok: check.problem.is_none(), reason: check.problem })
        .collect();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let readiness = Readiness { ready, roles: app.roles.names(), checks };
    json(status, serde_json::to_vec(&readiness).expect("strings and booleans are always JSON"))
}

/// `GET /metrics`: the text form of Prometheus.
pub(crate) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], (app.render_metrics)())
}
