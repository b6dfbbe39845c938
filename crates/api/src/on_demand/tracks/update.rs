use axum::extract::State;
use kinora_domain::{Media, MediaId, TrackId};
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathIds};

use super::request;
use super::view::TrackAnswer;
use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `PATCH /on-demand/{mediaId}/tracks/{trackId}`: gives a track another name or language, and with an address
/// another file, which is fetched. What is not sent stays.
///
/// Answers the track, which keeps its id. 404 unless the media is in the caller's workspace and has the
/// track, 412 when the media is not what `If-Match` names, 400 for a track of the media's own file and for a
/// language name that another track has, 422 names each wrong field. The change, its events and its job are
/// one commit; what changes nothing is not told.
pub(super) async fn update(
    State(app): State<ApiState>,
    caller: Writer,
    PathIds(media, track): PathIds<MediaId, TrackId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Data<TrackAnswer>, ApiError> {
    let update = request::parse_update(&body)?;
    let here = app.clone();
    let condition = move |media: &Media| conditions.hold(|| Data::ok(MediaView::new(media, &here.addresses)));
    let updated = app.service.update_track(&caller, (media, track), condition, update).await;
    Ok(Data::ok(TrackAnswer::from(&updated.map_err(error::of_operation)?)))
}
