//! The media of a manual playlist: appended, put in order, taken out. Each answers the playlist as `GET`
//! does.

use axum::extract::State;
use axum::response::Response;
use kinora_domain::{PlaylistId, PlaylistProblem};
use kinora_service::Error;
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::Problems;

use super::change::{changed, condition};
use super::media_request::{MEDIA_IDS, media_ids};
use crate::ApiState;
use crate::error;

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
    let condition = condition(&app, conditions);
    let outcome = app.service.append_to_playlist(&caller, id, condition, media).await;
    Ok(changed(&app, &outcome.map_err(rejected)?))
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
    let condition = condition(&app, conditions);
    let outcome = app.service.reorder_playlist(&caller, id, condition, media).await;
    Ok(changed(&app, &outcome.map_err(rejected)?))
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
    let condition = condition(&app, conditions);
    let outcome = app.service.remove_from_playlist(&caller, id, condition, media).await;
    Ok(changed(&app, &outcome.map_err(rejected)?))
}

/// 422 names each field of the body that is wrong.
fn rejected(error: Error) -> ApiError {
    match error {
        Error::PlaylistRejected(problem) => ApiError::invalid_field(field_of(&problem), problem.to_string()),
        Error::MediaNotReady(others) => not_ready(others),
        other => error::of_operation(other),
    }
}

fn field_of(problem: &PlaylistProblem) -> String {
    match problem {
        PlaylistProblem::Smart => "playlistId".to_owned(),
        PlaylistProblem::NotInside { at } => format!("{MEDIA_IDS}[{at}]"),
        PlaylistProblem::Full { .. } | PlaylistProblem::Incomplete { .. } => MEDIA_IDS.to_owned(),
    }
}

/// Only ready media join a playlist (C-174).
fn not_ready(others: Vec<(usize, Option<String>)>) -> ApiError {
    let problems = Problems::default();
    for (at, state) in others {
        let message = match state {
            Some(state) => format!("must be a media that is Ready; this one is {state}"),
            None => "must be a media of this workspace".to_owned(),
        };
        problems.add(format!("{MEDIA_IDS}[{at}]"), message);
    }
    problems.into_result(None::<()>).expect_err("at least one media is not ready")
}
