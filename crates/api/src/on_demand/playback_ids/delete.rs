use axum::extract::{RawQuery, State};
use kinora_domain::{MediaId, ParseIdError, PlaybackHandle, PlaybackId};
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::{Data, Done};
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;

use super::view::PlaybackIdView;
use crate::ApiState;
use crate::error;

const PARAMETER: &str = "playbackId";

/// `DELETE /on-demand/{mediaId}/playback-ids?playbackId=`: nobody watches through it any more. It may be the
/// last one.
///
/// 404 unless the media is in the caller's workspace and the playback ID is the media's, also the second
/// time; 412 when the playback ID is not what `If-Match` names.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<MediaId>,
    RawQuery(query): RawQuery,
    conditions: Conditions,
) -> Result<Done, ApiError> {
    let playback = parse(query.as_deref().unwrap_or(""))?;
    let condition = move |found: &PlaybackHandle| conditions.hold(|| Data::ok(PlaybackIdView::from(found)));
    let deleted = app.service.delete_playback_id(&caller, (id, playback), condition).await;
    deleted.map_err(error::of_operation)?;
    Ok(Done)
}

fn parse(query: &str) -> Result<PlaybackId, ApiError> {
    let mut given = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == PARAMETER);
    let refused = |must: &str| ApiError::invalid_field(PARAMETER, must);
    let (_, id) = given.next().ok_or_else(|| refused("must not be null"))?;
    if given.next().is_some() {
        return Err(refused("must be given once"));
    }
    id.parse().map_err(|error: ParseIdError| refused(&error.to_string()))
}
