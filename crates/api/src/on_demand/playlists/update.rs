use axum::extract::State;
use axum::response::Response;
use kinora_domain::PlaylistId;
use kinora_web::auth::WriteCaller;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::preconditions::Preconditions;

use super::change::{condition, playlist_response};
use super::request::{self, PlaylistText};
use crate::ApiState;
use crate::error;

/// `PUT /on-demand/playlists/{playlistId}`: replaces name and description. Responds as `GET` does.
///
/// 404 unless it is in the caller's workspace, 412 when `If-Match` does not match it, 422 names each wrong
/// field. Unchanged values are not saved.
pub(super) async fn update(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<PlaylistId>,
    conditions: Preconditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let PlaylistText { name, description } = request::parse_update(&body)?;
    let condition = condition(&app, conditions);
    let renamed = app.service.rename_playlist(&caller, id, condition, (name, description)).await;
    Ok(playlist_response(&app, &renamed.map_err(error::from_operation)?))
}
