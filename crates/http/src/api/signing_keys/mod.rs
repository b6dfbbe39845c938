//! `/iam/signing-keys`: keys that clients sign playback tokens with (contract 2.11).

mod create;
mod delete;
mod doc;
mod key_pairs;
mod list;
mod put;
mod read;

use axum::routing::get;

use crate::api::ApiState;
use crate::routes::Routes;

pub(super) use doc::operations;
pub(crate) use key_pairs::KeyPairs;

/// The operations on signing keys, below a prefix.
pub(super) fn routes(prefix: &str) -> Routes<ApiState> {
    Routes::new().route(&format!("{prefix}/iam/signing-keys"), get(list::list).post(create::create)).route(
        &format!("{prefix}/iam/signing-keys/{{signingKeyId}}"),
        get(read::read).put(put::put).delete(delete::delete),
    )
}
