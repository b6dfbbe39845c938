//! Direct uploads: made, listed and cancelled here; their bytes go to the signed address that is answered (contract 2.5).

mod cancel;
mod create;
mod deprecated;
mod list;
mod origin;
mod request;
mod view;

use axum::Router;
use axum::handler::Handler as _;
use axum::middleware;
use axum::routing::{get, post, put};

use crate::app::App;

/// The operations on uploads, below a prefix.
pub(in crate::api) fn routes(prefix: &str, app: &App) -> Router<App> {
    let announce = middleware::from_fn_with_state(app.clone(), deprecated::announce);
    let deprecated = create::create_limited.layer(announce);
    Router::new()
        .route(&format!("{prefix}/on-demand/upload"), post(create::create))
        .route(&format!("{prefix}/on-demand/uploads"), get(list::list).post(deprecated))
        .route(&format!("{prefix}/on-demand/upload/{{uploadId}}/cancel"), put(cancel::cancel))
}
