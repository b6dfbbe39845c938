//! Direct uploads: made, listed and cancelled here; their bytes go to the signed address that is answered
//! (C-139, C-142).

mod cancel;
mod create;
mod deprecated;
mod doc;
mod list;
mod origin;
mod request;
mod view;

use axum::routing::{get, post, put};
use kinora_web::routes::Routes;

use crate::ApiState;

pub(super) use doc::operations;

pub(crate) use deprecated::{announce as announce_deprecated, is_asked_for as is_deprecated};

/// The operations on uploads, below a prefix.
pub(crate) fn routes(prefix: &str) -> Routes<ApiState> {
    Routes::new()
        .route(&format!("{prefix}/on-demand/upload"), post(create::create))
        .route(&format!("{prefix}/on-demand/uploads"), get(list::list).post(create::create_limited))
        .route(&format!("{prefix}/on-demand/upload/{{uploadId}}/cancel"), put(cancel::cancel))
}
