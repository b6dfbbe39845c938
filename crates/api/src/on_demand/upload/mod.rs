//! Direct uploads: created, listed and cancelled here; their bytes are sent to the signed address in the
//! response (C-139, C-142).

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

pub(crate) use deprecated::{add_deprecation_headers as announce_deprecated, is_deprecated};

/// The operations on uploads, below a prefix.
pub(crate) fn routes(prefix: &str) -> Routes<ApiState> {
    Routes::new()
        .route(&format!("{prefix}/on-demand/upload"), post(create::create))
        .route(&format!("{prefix}/on-demand/uploads"), get(list::list).post(deprecated::create_limited))
        .route(&format!("{prefix}/on-demand/upload/{{uploadId}}/cancel"), put(cancel::cancel))
}
