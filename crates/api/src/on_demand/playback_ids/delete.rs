use axum::extract::{RawQuery, State};
use kinora_domain::{MediaId, ParseIdError, PlaybackId, PlaybackIdSettings};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::{Data, Success};
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::preconditions::Preconditions;

use super::view::PlaybackIdView;
use crate::ApiState;
use crate::error;

const PARAMETER: &str = "playbackId";

/// `DELETE /on-demand/{mediaId}/playback-ids?playbackId=`: deletes a playback ID, through which no viewer
/// can watch any more. It may be the last one.
///
/// 404 unless the media is in the caller's workspace and the playback ID is the media's, also the second
/// time; 412 when `If-Match` does not match the playback ID.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<MediaId>,
    RawQuery(query): RawQuery,
    conditions: Preconditions,
) -> Result<Success, ApiError> {
    let playback = parse(query.as_deref().unwrap_or(""))?;
    let condition =
        move |found: &PlaybackIdSettings| conditions.is_met(|| Data::ok(PlaybackIdView::from(found)));
    let deleted = app.service.delete_playback_id(&caller, (id, playback), condition).await;
    deleted.map_err(error::from_operation)?;
    Ok(Success)
}

fn parse(query: &str) -> Result<PlaybackId, ApiError> {
    let mut parameters = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == PARAMETER);
    let rejection = |must: &str| ApiError::invalid_field(PARAMETER, must);
    let (_, id) = parameters.next().ok_or_else(|| rejection("must not be null"))?;
    if parameters.next().is_some() {
        return Err(rejection("must be given once"));
    }
    id.parse().map_err(|error: ParseIdError| rejection(&error.to_string()))
}
