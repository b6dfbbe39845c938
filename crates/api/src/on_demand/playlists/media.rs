//! The media of a manual playlist: appended, reordered, removed. Each operation responds with the playlist,
//! as `GET` does.

use axum::extract::State;
use axum::response::Response;
use kinora_domain::{PlaylistId, PlaylistRejected};
use kinora_service::Error;
use kinora_web::auth::WriteCaller;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::Problems;
use kinora_web::preconditions::Preconditions;

use super::change::{condition, playlist_response};
use super::media_ids_request::{MEDIA_IDS, media_ids};
use crate::ApiState;
use crate::error;

/// `PATCH /on-demand/playlists/{playlistId}/media`: appends media in the order of the request. A media that
/// is already in the playlist stays at its position, so a repeated request changes nothing.
///
/// 404 unless the playlist is in the caller's workspace; 412 when `If-Match` does not match it; 422 names
/// each media that does not exist or is not ready.
pub(super) async fn append(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<PlaylistId>,
    conditions: Preconditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let media = media_ids(&body, 1)?;
    let condition = condition(&app, conditions);
    let outcome = app.service.append_to_playlist(&caller, id, condition, media).await;
    Ok(playlist_response(&app, &outcome.map_err(convert_error)?))
}

/// `PUT /on-demand/playlists/{playlistId}/media`: puts the media in the order of the request, which names
/// each of them once.
///
/// 404 unless the playlist is in the caller's workspace; 412 when `If-Match` does not match it; 422 when the
/// request names others, or not all.
pub(super) async fn reorder(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<PlaylistId>,
    conditions: Preconditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let media = media_ids(&body, 0)?;
    let condition = condition(&app, conditions);
    let outcome = app.service.reorder_playlist(&caller, id, condition, media).await;
    Ok(playlist_response(&app, &outcome.map_err(convert_error)?))
}

/// `DELETE /on-demand/playlists/{playlistId}/media`: removes media.
///
/// 404 unless the playlist is in the caller's workspace; 412 when `If-Match` does not match it; 422 names
/// the first media that is not in it, and none is removed.
pub(super) async fn remove(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<PlaylistId>,
    conditions: Preconditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let media = media_ids(&body, 1)?;
    let condition = condition(&app, conditions);
    let outcome = app.service.remove_from_playlist(&caller, id, condition, media).await;
    Ok(playlist_response(&app, &outcome.map_err(convert_error)?))
}

/// Converts an error; 422 names each wrong field of the body.
fn convert_error(error: Error) -> ApiError {
    match error {
        Error::PlaylistRejected(problem) => ApiError::invalid_field(field_of(&problem), problem.to_string()),
        Error::MediaNotReady(others) => not_ready(others),
        other => error::from_operation(other),
    }
}

fn field_of(problem: &PlaylistRejected) -> String {
    match problem {
        PlaylistRejected::NotManual => "playlistId".to_owned(),
        PlaylistRejected::NotAMember { index: at } => format!("{MEDIA_IDS}[{at}]"),
        PlaylistRejected::Full { .. } | PlaylistRejected::Incomplete { .. } => MEDIA_IDS.to_owned(),
    }
}

/// 422: only ready media can be added to a playlist (C-174).
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
