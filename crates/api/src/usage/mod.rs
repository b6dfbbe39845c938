//! `/usage`: the storage, encoding and delivery of a workspace (D-0088).

mod doc;
mod period;
mod read;

use axum::routing::get;
use kinora_web::routes::Routes;

use crate::ApiState;

pub(super) use doc::operations;

/// The operation on usage, below a prefix.
pub(super) fn routes(prefix: &str) -> Routes<ApiState> {
    Routes::new().route(&format!("{prefix}/usage"), get(read::read))
}
