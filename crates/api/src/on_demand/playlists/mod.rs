//! `/on-demand/playlists`: lists of media that play one after another (C-171, D-0072).

mod change;
mod create;
mod delete;
mod doc;
mod list;
mod media;
mod media_ids_request;
mod read;
mod request;
mod update;
mod view;

use axum::routing::{get, patch};
use kinora_web::routes::Routes;

use crate::ApiState;

pub(super) use doc::operations;

/// The operations on playlists, below a prefix.
pub(crate) fn routes(prefix: &str) -> Routes<ApiState> {
    let all = format!("{prefix}/on-demand/playlists");
    let one = format!("{all}/{{playlistId}}");
    Routes::new()
        .route(&all, get(list::list).post(create::create))
        .route(&one, get(read::read).put(update::update).delete(delete::delete))
        .route(&format!("{one}/media"), patch(media::append).put(media::reorder).delete(media::remove))
}
