//! The media of a manual playlist: appended, put in order, taken out. Each answers the playlist as `GET`
//! does.

use std::collections::HashMap;

use axum::extract::State;
use axum::response::Response;
use kinora_domain::{MediaId, Playlist, PlaylistId, PlaylistProblem};
use kinora_store::Tx;
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::Problems;

use super::change::change;
use super::media_request::{MEDIA_IDS, media_ids};
use crate::ApiState;

/// `PATCH /on-demand/playlists/{playlistId}/media`: appends media in the order of the request. One that is in
/// it already stays where it is, so a request that is repeated changes nothing.
///
/// 404 unless the playlist is in the caller's workspace; 412 when it is not what `If-Match` names; 422 names
/// each media that is not there or not ready.
pub(super) async fn append(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let media = media_ids(&body, 1)?;
    let (workspace, now) = (caller.workspace, app.clock.now());
    change(&app, (workspace, id), conditions, async move |tx, playlist| {
        let after = playlist.append(&media, now).map_err(refused)?;
        check_ready(&media, &tx.media_states(workspace, &media).await?)?;
        Ok(after)
    })
    .await
}

/// `PUT /on-demand/playlists/{playlistId}/media`: puts the media in the order of the request, which names
/// each of them once.
///
/// 404 unless the playlist is in the caller's workspace; 412 when it is not what `If-Match` names; 422 when
/// the request names others, or not all.
pub(super) async fn reorder(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let media = media_ids(&body, 0)?;
    let now = app.clock.now();
    let reorder = async move |_: &mut Tx, playlist: Playlist| playlist.reorder(&media, now).map_err(refused);
    change(&app, (caller.workspace, id), conditions, reorder).await
}

/// `DELETE /on-demand/playlists/{playlistId}/media`: takes media out.
///
/// 404 unless the playlist is in the caller's workspace; 412 when it is not what `If-Match` names; 422 names
/// the first that is not in it, and none is taken out.
pub(super) async fn remove(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let media = media_ids(&body, 1)?;
    let now = app.clock.now();
    let remove = async move |_: &mut Tx, playlist: Playlist| playlist.remove(&media, now).map_err(refused);
    change(&app, (caller.workspace, id), conditions, remove).await
}

/// Only ready media join a playlist (contract 2.9).
fn check_ready(media: &[MediaId], states: &HashMap<MediaId, String>) -> Result<(), ApiError> {
    let problems = Problems::default();
    for (at, id) in media.iter().enumerate() {
        let message = match states.get(id).map(String::as_str) {
            Some("Ready") => continue,
            Some(state) => format!("must be a media that is Ready; this one is {state}"),
            None => "must be a media of this workspace".to_owned(),
        };
        problems.add(format!("{MEDIA_IDS}[{at}]"), message);
    }
    problems.into_result(Some(()))
}

fn refused(problem: PlaylistProblem) -> ApiError {
    let field = match &problem {
        PlaylistProblem::Smart => "playlistId".to_owned(),
        PlaylistProblem::NotInside { at } => format!("{MEDIA_IDS}[{at}]"),
        PlaylistProblem::Full { .. } | PlaylistProblem::Incomplete { .. } => MEDIA_IDS.to_owned(),
    };
    ApiError::invalid_field(field, problem.to_string())
}
