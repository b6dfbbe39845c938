use axum::extract::State;
use kinora_domain::MediaId;

use super::view::PlaybackIdView;
use crate::api::ApiState;
use crate::auth::Reader;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::extract::PathId;

/// `GET /on-demand/{mediaId}/playback-ids`: all of them, oldest first; there are never so many that pages were needed.
///
/// 404 unless the media is in the caller's workspace.
pub(super) async fn list(
    State(app): State<ApiState>,
    caller: Reader,
    PathId(id): PathId<MediaId>,
) -> Result<Data<Vec<PlaybackIdView>>, ApiError> {
    let media = app.store.media(caller.workspace, id).await?.ok_or_else(ApiError::media_not_found)?;
    Ok(Data::ok(media.playback.iter().map(PlaybackIdView::from).collect()))
}
