use axum::extract::State;
use kinora_domain::MediaId;
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;

use super::view::PlaybackIdView;
use crate::ApiState;
use crate::error;

/// `GET /on-demand/{mediaId}/playback-ids`: all playback IDs, oldest first, without pages, since their limit
/// is low.
///
/// 404 unless the media is in the caller's workspace.
pub(super) async fn list(
    State(app): State<ApiState>,
    caller: ReadCaller,
    PathId(id): PathId<MediaId>,
) -> Result<Data<Vec<PlaybackIdView>>, ApiError> {
    let media = app.store.media(caller.workspace, id).await?.ok_or_else(error::media_not_found)?;
    Ok(Data::ok(media.playback_ids.iter().map(PlaybackIdView::from).collect()))
}
