//! Health, readiness and metrics, for operators and their tools.

use std::fmt;
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
    /// One entry for each part that is checked.
    fn checks(&self) -> futures_util::future::BoxFuture<'_, Vec<Check>>;
}

/// The result of one check.
#[derive(Debug, Clone)]
pub struct Check {
    /// Name of the part, such as `database`.
    pub name: &'static str,
    /// The problem; `None` when the part works.
    pub problem: Option<Problem>,
    /// Whether the process is ready only while this part works.
    pub is_required: bool,
}

/// Why a part does not work. As text it is one sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, and what follows from it.
    pub what: String,
    /// What an operator can do.
    pub advice: &'static str,
}

impl Problem {
    /// This problem with this advice.
    pub fn new(what: impl Into<String>, advice: &'static str) -> Self {
        Self { what: what.into(), advice }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.advice)
    }
}

/// State of these routes.
#[derive(Clone)]
pub struct HealthState {
    /// The checks of `/readyz`.
    pub health: Arc<dyn Health>,
    /// Renders `/metrics`.
    pub render_metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// The roles of this process.
    pub roles: Roles,
}

/// `/healthz`, `/readyz` and `/metrics`, of every process.
pub fn routes(state: HealthState) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(state)
}

/// `GET /healthz`: the process responds.
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

/// `GET /readyz`: 200 when every required part works, else 503.
///
/// Both list the roles of the process, each part, and the reason where one does not work.
async fn readyz(State(state): State<HealthState>) -> Response {
    let found = state.health.checks().await;
    let ready = found.iter().all(|check| check.problem.is_none() || !check.is_required);
    let checks = found
        .into_iter()
        .map(|Check { name, problem, .. }| CheckView {
            name,
            ok: problem.is_none(),
            reason: problem.map(|problem| problem.to_string()),
        })
        .collect();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let readiness = Readiness { ready, roles: state.roles.names(), checks };
    json(status, serde_json::to_vec(&readiness).expect("strings and booleans are always JSON"))
}

/// `GET /metrics`: the text form of Prometheus.
async fn metrics(State(state): State<HealthState>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], (state.render_metrics)())
}
