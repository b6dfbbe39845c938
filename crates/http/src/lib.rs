//! HTTP: the JSON API, what players read, and what operators look at.
//!
//! A request flows one way: route, extractors that prove who and what, a domain function or the packager, one answer. Knows no
//! SQL, no box of a file format and no process. Status codes and messages exist only in `error.rs`.
//!
//! Begin with [`router`].

mod addresses;
mod api;
mod app;
mod around;
mod assets;
mod auth;
mod condition;
mod delivery;
mod envelope;
mod error;
mod extract;
mod failure;
mod fields;
mod gzip;
mod instant;
mod list_query;
mod observe;
mod once;
mod openapi;
mod operate;
mod preflight;
mod public_key;
mod rate_limit;
mod roles;
mod routes;
mod serve;
mod upload;

use std::sync::Arc;

use axum::Router;

use around::around;

pub use addresses::Addresses;
pub use api::PlaybackReportView;
pub use app::{App, AppOptions};
pub use assets::Assets;
pub use error::ApiError;
pub use operate::{Check, Health};
pub use rate_limit::{NoRateLimit, RateLimit};
pub use roles::Roles;
pub use serve::{ServeOptions, TrustedProxies, serve};

/// The paths of the API that are served, each with and without `/v1` in front of it.
pub fn api_paths() -> Vec<String> {
    api::routes("").into_paths()
}

/// The paths that players and viewers come to. A test holds them against what asks who may watch, so that none is forgotten.
pub fn playback_paths() -> Vec<String> {
    delivery::paths()
}

/// The document of the API (OpenAPI 3.1), at these addresses.
pub fn document(addresses: &Addresses) -> serde_json::Value {
    openapi::document(addresses, api::operations)
}

/// Every route of the roles that the process has, and those of operators.
///
/// API paths are served with and without `/v1` (contract decision 1). Paths of another role answer 404 and say so
/// (decision 0028).
pub fn router(app: App) -> Router {
    let roles = app.roles();
    let api =
        if roles.api { api_router(&app) } else { api::elsewhere(roles).merge(upload::elsewhere(roles)) };
    let delivery = match (roles.delivery, roles.api) {
        (true, _) => delivery::routes().merge(delivery::assets()).with_state(app.delivery()),
        (false, true) => delivery::elsewhere(roles).merge(delivery::assets().with_state(app.delivery())),
        (false, false) => delivery::elsewhere(roles),
    };
    let observe = {
        let observer = Arc::clone(app.observer());
        around(move |request, below| observe::observe(&observer, request, below))
    };
    Router::new()
        .merge(api)
        .merge(operate::routes(app.operate()))
        .merge(delivery)
        .fallback(async || ApiError::no_such_path())
        .method_not_allowed_fallback(async || ApiError::method_not_allowed())
        .layer(observe)
}

/// The routes of the role `api`.
fn api_router(app: &App) -> Router {
    let state = app.api();
    let before = {
        let state = state.clone();
        around(move |request, below| api::before(&state, request, below))
    };
    let compressed = {
        let cache = Arc::clone(app.gzip());
        around(move |request, below| gzip::answers(&cache, request, below))
    };
    Router::new()
        .merge(api::routes("").into_router())
        .merge(api::routes("/v1").into_router())
        .route_layer(before)
        .route_layer(compressed)
        .merge(api::unknown())
        .with_state(state)
        .merge(openapi::routes(app.openapi()))
        .merge(upload::routes().with_state(app.upload()))
}
