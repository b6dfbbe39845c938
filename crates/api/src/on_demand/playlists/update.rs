use axum::extract::State;
use axum::response::Response;
use kinora_domain::{Playlist, PlaylistId};
use kinora_store::Tx;
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};

use super::change::change;
use super::request;
use crate::ApiState;

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
    let shown = request::shown(&body)?;
    let now = app.clock.now();
    let rename = async move |_: &mut Tx, playlist: Playlist| {
        Ok(playlist.rename(shown.name.clone(), shown.description.clone(), now))
    };
    change(&app, (caller.workspace, id), conditions, rename).await
}
