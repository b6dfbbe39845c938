//! `/iam/revoked-tokens`: playback tokens that are revoked before they expire (C-13, C-168).

mod create;
mod doc;

use axum::routing::post;
use kinora_web::routes::Routes;

use crate::ApiState;

pub(super) use doc::operations;

/// The operations on revoked tokens, below a prefix.
pub(super) fn routes(prefix: &str) -> Routes<ApiState> {
    Routes::new().route(&format!("{prefix}/iam/revoked-tokens"), post(create::create))
}
