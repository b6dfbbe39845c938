use axum::extract::State;
use axum::response::Response;
use kinora_domain::{MediaId, PlaybackId};

use super::view::PlaybackIdView;
use crate::api::ApiState;
use crate::auth::Reader;
use crate::condition::{Conditions, Tagged};
use crate::envelope::Data;
use crate::error::ApiError;
use crate::extract::PathIds;

/// `GET /on-demand/{mediaId}/playback-ids/{playbackId}`: one of them.
///
/// 404 unless the media is in the caller's workspace and the playback ID is the media's.
pub(super) async fn read(
    State(app): State<ApiState>,
    caller: Reader,
    PathIds(media, playback): PathIds<MediaId, PlaybackId>,
    conditions: Conditions,
) -> Result<Response, ApiError> {
    let media = app.store.media(caller.workspace, media).await?;
    let found = media.as_ref().and_then(|media| media.playback(playback));
    let found = found.ok_or_else(ApiError::media_playback_not_found)?;
    conditions.answer(Tagged::of(&Data::ok(PlaybackIdView::from(found))))
}
