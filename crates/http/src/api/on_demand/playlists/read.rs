use axum::extract::State;
use axum::response::Response;
use kinora_domain::PlaylistId;

use super::view::PlaylistView;
use crate::api::ApiState;
use crate::auth::Reader;
use crate::condition::{Conditions, Tagged};
use crate::envelope::Data;
use crate::error::ApiError;
use crate::extract::PathId;

/// `GET /on-demand/playlists/{playlistId}`: one playlist with all of its media; 404 unless it is in the caller's workspace.
pub(super) async fn read(
    State(app): State<ApiState>,
    caller: Reader,
    PathId(id): PathId<PlaylistId>,
    conditions: Conditions,
) -> Result<Response, ApiError> {
    let found = app.store.playlist(caller.workspace, id).await?;
    let (playlist, media) = found.ok_or_else(ApiError::playlist_not_found)?;
    conditions.answer(Tagged::of(&Data::ok(PlaylistView::new(&playlist, &media, &app.addresses))))
}
