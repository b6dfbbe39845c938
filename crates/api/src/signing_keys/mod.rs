//! `/iam/signing-keys`: keys that clients sign playback tokens with (C-169, C-170).

mod create;
mod delete;
mod doc;
mod key_pool;
mod list;
mod put;
mod read;

use axum::routing::get;
use kinora_web::routes::Routes;

use crate::ApiState;

pub(super) use doc::operations;
pub use key_pool::KeyPairs;

/// The operations on signing keys, below a prefix.
pub(super) fn routes(prefix: &str) -> Routes<ApiState> {
    Routes::new().route(&format!("{prefix}/iam/signing-keys"), get(list::list).post(create::create)).route(
        &format!("{prefix}/iam/signing-keys/{{signingKeyId}}"),
        get(read::read).put(put::put).delete(delete::delete),
    )
}
