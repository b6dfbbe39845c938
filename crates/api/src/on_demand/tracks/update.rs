use axum::extract::State;
use kinora_domain::{Media, MediaId, TrackId};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathIds};
use kinora_web::preconditions::Preconditions;

use super::request;
use super::view::AddedTrackView;
use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `PATCH /on-demand/{mediaId}/tracks/{trackId}`: changes the name or the language of a track, and with an
/// address its file, which is fetched. Fields that are not sent stay unchanged.
///
/// Responds with the track, which keeps its id. 404 unless the media is in the caller's workspace and has
/// the track, 412 when `If-Match` does not match the media, 400 for a track of the media's own file and for
/// a language name that another track has, 422 names each wrong field. The change, its events and its job
/// are one commit; a request without a change emits no event.
pub(super) async fn update(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathIds(media, track): PathIds<MediaId, TrackId>,
    conditions: Preconditions,
    JsonBody(body): JsonBody,
) -> Result<Data<AddedTrackView>, ApiError> {
    let update = request::parse_update(&body)?;
    let state = app.clone();
    let condition =
        move |media: &Media| conditions.is_met(|| Data::ok(MediaView::new(media, &state.base_urls)));
    let updated = app.service.update_track(&caller, (media, track), condition, update).await;
    Ok(Data::ok(AddedTrackView::from(&updated.map_err(error::from_operation)?)))
}
