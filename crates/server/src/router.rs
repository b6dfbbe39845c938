//! All routes of a process.

use std::sync::Arc;

use axum::Router;
use kinora_web::error::ApiError;
use kinora_web::middleware::layer_fn;
use kinora_web::{health, observe};

use crate::app::App;

/// Every route of the roles of the process, and those of operators.
///
/// Paths of another role return 404 with that reason (D-0028).
pub(crate) fn router(app: &App) -> Router {
    let roles = app.roles();
    let api = if roles.api {
        kinora_api::router(app.api(), app.gzip(), app.openapi())
            .merge(kinora_upload::routes().with_state(app.upload()))
            .merge(dashboard(app))
    } else {
        kinora_api::role_disabled_routes(roles)
            .merge(kinora_upload::elsewhere(roles))
            .merge(kinora_dashboard::role_disabled_routes(roles))
    };
    let delivery = match (roles.delivery, roles.api) {
        (true, _) => kinora_delivery::routes().merge(kinora_delivery::assets()).with_state(app.delivery()),
        (false, true) => kinora_delivery::disabled_routes(roles)
            .merge(kinora_delivery::assets().with_state(app.delivery())),
        (false, false) => kinora_delivery::disabled_routes(roles),
    };
    let observe = {
        let observer = Arc::clone(app.observer());
        layer_fn(move |request, next| observe::observe(&observer, request, next))
    };
    Router::new()
        .merge(api)
        .merge(health::routes(app.health()))
        .merge(delivery)
        .fallback(async || ApiError::no_such_path())
        .method_not_allowed_fallback(async || ApiError::method_not_allowed())
        .layer(observe)
}

/// The dashboard, and the operations of the API that it calls with a session.
fn dashboard(app: &App) -> Router {
    let operations = kinora_api::mount(kinora_dashboard::MOUNT_PREFIX, app.api(), app.gzip());
    kinora_dashboard::routes(app.dashboard())
        .merge(kinora_dashboard::protect_mount(operations, app.dashboard()))
}
