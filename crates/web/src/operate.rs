//! What operators and their tools look at.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;

use crate::envelope::json;
use crate::roles::Roles;

/// Whether the server can do its work.
pub trait Health: Send + Sync {
    /// One entry a part that is checked.
    fn checks(&self) -> futures_util::future::BoxFuture<'_, Vec<Check>>;
}

/// How one part stands.
#[derive(Debug, Clone)]
pub struct Check {
    /// Which part, `database`.
    pub name: &'static str,
    /// What is wrong with it and what to do; `None` when nothing is.
    pub problem: Option<String>,
    /// Whether the process is ready only while nothing is wrong with this part.
    pub is_required: bool,
}

/// State of these routes.
#[derive(Clone)]
pub struct OperateState {
    /// Answers `/readyz`.
    pub health: Arc<dyn Health>,
    /// Renders `/metrics`.
    pub render_metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// What this process does.
    pub roles: Roles,
}

/// `/healthz`, `/readyz` and `/metrics`, of every process.
pub fn routes(state: OperateState) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(state)
}

/// `GET /healthz`: the process answers.
async fn healthz() -> Response {
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
async fn readyz(State(state): State<OperateState>) -> Response {
    let found = state.health.checks().await;
    let ready = found.iter().all(|check| check.problem.is_none() || !check.is_required);
    let checks = found
        .into_iter()
        .map(|check| CheckView { name: check.name, ok: check.problem.is_none(), reason: check.problem })
        .collect();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let readiness = Readiness { ready, roles: state.roles.names(), checks };
    json(status, serde_json::to_vec(&readiness).expect("strings and booleans are always JSON"))
}

/// `GET /metrics`: the text form of Prometheus.
async fn metrics(State(state): State<OperateState>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], (state.render_metrics)())
}
