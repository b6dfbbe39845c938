use axum::extract::State;
use axum::response::Response;
use kinora_domain::PlaylistId;
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};

use super::change::{changed, condition};
use super::request::{self, Shown};
use crate::ApiState;
use crate::error;

/// `PUT /on-demand/playlists/{playlistId}`: replaces name and description. Answers as `GET` does.
///
/// 404 unless it is in the caller's workspace, 412 when it is not what `If-Match` names, 422 names each wrong
/// field. What is the same as before is not saved.
pub(super) async fn update(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let Shown { name, description } = request::shown(&body)?;
    let condition = condition(&app, conditions);
    let renamed = app.service.rename_playlist(&caller, id, condition, (name, description)).await;
    Ok(changed(&app, &renamed.map_err(error::of_operation)?))
}
