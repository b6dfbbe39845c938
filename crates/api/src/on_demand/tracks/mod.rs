//! `/on-demand/{mediaId}/tracks`: tracks that are added to those of a media's own file (C-155, C-156, C-157,
//! D-0071, D-0079).

mod create;
mod delete;
mod doc;
mod request;
mod update;
mod view;

use axum::routing::{patch, post};
use kinora_web::routes::Routes;

use crate::ApiState;

pub(super) use doc::{input as described_input, operations};
pub(super) use request::subtitle_input;

/// The operations on added tracks, below a prefix.
pub(crate) fn routes(prefix: &str) -> Routes<ApiState> {
    let all = format!("{prefix}/on-demand/{{mediaId}}/tracks");
    let one = format!("{all}/{{trackId}}");
    Routes::new().route(&all, post(create::create)).route(&one, patch(update::update).delete(delete::delete))
}
