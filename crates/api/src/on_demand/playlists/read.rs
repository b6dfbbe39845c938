use axum::extract::State;
use axum::response::Response;
use kinora_domain::PlaylistId;
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::preconditions::{Preconditions, TaggedResponse};

use super::view::PlaylistView;
use crate::ApiState;
use crate::error;

/// `GET /on-demand/playlists/{playlistId}`: one playlist with all of its media; 404 unless it is in the
/// caller's workspace.
pub(super) async fn read(
    State(app): State<ApiState>,
    caller: ReadCaller,
    PathId(id): PathId<PlaylistId>,
    conditions: Preconditions,
) -> Result<Response, ApiError> {
    let found = app.store.playlist(caller.workspace, id).await?;
    let (playlist, media) = found.ok_or_else(error::playlist_not_found)?;
    conditions.respond(TaggedResponse::of(&Data::ok(PlaylistView::new(&playlist, &media, &app.base_urls))))
}
