//! `/on-demand/{mediaId}/playback-ids`: the playback IDs of a media, and their rules (C-161, C-162).

mod create;
mod delete;
mod doc;
mod list;
mod read;
mod request;
mod restrict;
mod view;

use axum::routing::{get, patch};
use kinora_web::routes::Routes;

use crate::ApiState;

pub(super) use doc::operations;

/// The operations on playback IDs, below a prefix.
pub(crate) fn routes(prefix: &str) -> Routes<ApiState> {
    let all = format!("{prefix}/on-demand/{{mediaId}}/playback-ids");
    let one = format!("{all}/{{playbackId}}");
    Routes::new()
        .route(&all, get(list::list).post(create::create).delete(delete::delete))
        .route(&one, get(read::read))
        .route(&format!("{one}/domains"), patch(restrict::domains))
        .route(&format!("{one}/user-agents"), patch(restrict::user_agents))
}
