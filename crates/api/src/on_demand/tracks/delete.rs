use axum::extract::State;
use kinora_domain::{Media, MediaId, TrackId};
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::{Data, Done};
use kinora_web::error::ApiError;
use kinora_web::extract::PathIds;

use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `DELETE /on-demand/{mediaId}/tracks/{trackId}`: takes an added track away; its file is removed after the
/// commit.
///
/// 404 unless the media is in the caller's workspace and has the track, also the second time; 412 when the
/// media is not what `If-Match` names; 400 for a track of the media's own file.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: Writer,
    PathIds(media, track): PathIds<MediaId, TrackId>,
    conditions: Conditions,
) -> Result<Done, ApiError> {
    let here = app.clone();
    let condition = move |media: &Media| conditions.hold(|| Data::ok(MediaView::new(media, &here.addresses)));
    let deleted = app.service.delete_track(&caller, (media, track), condition).await;
    deleted.map_err(error::of_operation)?;
    Ok(Done)
}
