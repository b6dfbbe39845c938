use axum::extract::State;
use kinora_domain::PlaylistId;
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Success;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::preconditions::Preconditions;

use super::change::condition;
use crate::ApiState;
use crate::error;

/// `DELETE /on-demand/playlists/{playlistId}`: the playlist is deleted with this response, its media stay.
///
/// 404 unless it is in the caller's workspace, also the second time; 412 when `If-Match` does not match it.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<PlaylistId>,
    conditions: Preconditions,
) -> Result<Success, ApiError> {
    let deleted = app.service.delete_playlist(&caller, id, condition(&app, conditions)).await;
    deleted.map_err(error::from_operation)?;
    Ok(Success)
}
