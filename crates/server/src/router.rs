//! All routes of a process.

use std::sync::Arc;

use axum::Router;
use kinora_web::around::around;
use kinora_web::error::ApiError;
use kinora_web::{observe, operate};

use crate::app::App;

/// Every route of the roles that the process has, and those of operators.
///
/// Paths of another role answer 404 and say so (D-0028).
pub(crate) fn router(app: &App) -> Router {
    let roles = app.roles();
    let api = if roles.api {
        kinora_api::router(app.api(), app.gzip(), app.openapi())
            .merge(kinora_upload::routes().with_state(app.upload()))
    } else {
        kinora_api::elsewhere(roles).merge(kinora_upload::elsewhere(roles))
    };
    let delivery = match (roles.delivery, roles.api) {
        (true, _) => kinora_delivery::routes().merge(kinora_delivery::assets()).with_state(app.delivery()),
        (false, true) => {
            kinora_delivery::elsewhere(roles).merge(kinora_delivery::assets().with_state(app.delivery()))
        }
        (false, false) => kinora_delivery::elsewhere(roles),
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
