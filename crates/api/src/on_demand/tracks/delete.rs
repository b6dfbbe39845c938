use axum::extract::State;
use kinora_domain::{Media, MediaId, TrackId};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::{Data, Success};
use kinora_web::error::ApiError;
use kinora_web::extract::PathIds;
use kinora_web::preconditions::Preconditions;

use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `DELETE /on-demand/{mediaId}/tracks/{trackId}`: removes an added track; its file is removed after the
/// commit.
///
/// 404 unless the media is in the caller's workspace and has the track, also the second time; 412 when
/// `If-Match` does not match the media; 400 for a track of the media's own file.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathIds(media, track): PathIds<MediaId, TrackId>,
    conditions: Preconditions,
) -> Result<Success, ApiError> {
    let state = app.clone();
    let condition =
        move |media: &Media| conditions.is_met(|| Data::ok(MediaView::new(media, &state.base_urls)));
    let deleted = app.service.delete_track(&caller, (media, track), condition).await;
    deleted.map_err(error::from_operation)?;
    Ok(Success)
}
