use axum::extract::State;
use kinora_domain::PlaylistId;
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::Done;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;

use super::change::condition;
use crate::ApiState;
use crate::error;

/// `DELETE /on-demand/playlists/{playlistId}`: the playlist is gone with this answer, its media stay.
///
/// 404 unless it is in the caller's workspace, also the second time; 412 when it is not what `If-Match`
/// names.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    conditions: Conditions,
) -> Result<Done, ApiError> {
    let deleted = app.service.delete_playlist(&caller, id, condition(&app, conditions)).await;
    deleted.map_err(error::of_operation)?;
    Ok(Done)
}
