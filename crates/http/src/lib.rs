//! HTTP: the JSON API, what players read, and what operators look at.
//!
//! A request flows one way: route, extractors that prove who and what, a domain function or the packager, one answer. Knows no
//! SQL, no box of a file format and no process. Status codes and messages exist only in `error.rs`.
//!
//! Begin with [`router`].

mod api;
mod app;
mod around;
mod auth;
mod condition;
mod delivery;
mod envelope;
mod error;
mod extract;
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
mod serve;
mod upload;

use axum::Router;
use axum::routing::get;

use around::around;

pub use api::PlaybackReportView;
pub use app::{Addresses, App, AppOptions, Assets, Check, Health, Roles};
pub use error::ApiError;
pub use openapi::document;
pub use rate_limit::{NoRateLimit, RateLimit};
pub use serve::{ServeOptions, TrustedProxies, serve};

/// The paths of the API that are served, each with and without `/v1` in front of it.
pub fn api_paths() -> Vec<String> {
    api::routes("").into_paths()
}

/// The paths that players and viewers come to. A test holds them against what asks who may watch, so that none is forgotten.
pub fn playback_paths() -> Vec<String> {
    delivery::paths()
}

/// Every route of the roles that the process has, and what operators look at.
///
/// API paths are served with and without `/v1` (contract decision 1). Paths of another role answer 404 and say so
/// (decision 0028).
pub fn router(app: App) -> Router {
    let roles = app.roles;
    let api = if roles.api {
        let before = {
            let app = app.clone();
            around(move |request, below| api::before(&app, request, below))
        };
        let compressed = {
            let app = app.clone();
            around(move |request, below| gzip::answers(&app, request, below))
        };
        Router::new()
            .merge(api::routes("").into_router())
            .merge(api::routes("/v1").into_router())
            .route_layer(before)
            .route_layer(compressed)
            .merge(api::unknown())
            .merge(openapi::routes())
            .merge(upload::routes())
    } else {
        api::elsewhere(roles).merge(upload::elsewhere(roles))
    };
    let delivery = if roles.delivery { delivery::routes() } else { delivery::elsewhere(roles) };
    let assets = if roles.api || roles.delivery { delivery::assets() } else { Router::new() };
    let observe = {
        let app = app.clone();
        around(move |request, below| observe::observe(&app, request, below))
    };
    Router::new()
        .merge(api)
        .route("/healthz", get(operate::healthz))
        .route("/readyz", get(operate::readyz))
        .route("/metrics", get(operate::metrics))
        .merge(delivery)
        .merge(assets)
        .fallback(async || ApiError::no_such_path())
        .method_not_allowed_fallback(async || ApiError::method_not_allowed())
        .layer(observe)
        .with_state(app)
}
