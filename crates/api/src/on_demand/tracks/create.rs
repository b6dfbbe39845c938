use axum::extract::State;
use kinora_domain::{AddedTrack, MediaId};
use kinora_web::auth::Writer;
use kinora_web::envelope::Answer;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::once::Once;

use super::request;
use super::view::TrackAnswer;
use crate::ApiState;
use crate::commit::Respond;

/// `POST /on-demand/{mediaId}/tracks`: adds subtitles or sound to a media, in whatever state that is.
/// Subtitles are fetched at once, sound when the media is ready.
///
/// 201 with the track; 404 unless the media is in the caller's workspace, 400 when another track has the
/// language name or the media has as many as it can have, 422 names each wrong field. The track, its events
/// and its job are one commit.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: Writer,
    once: Once,
    PathId(id): PathId<MediaId>,
    JsonBody(body): JsonBody,
) -> Result<Answer, ApiError> {
    let wanted = request::parse_new(&body)?;
    let created = |track: AddedTrack| Data::created(TrackAnswer::from(&track), Vec::new()).into_answer();
    app.service.add_track(&caller, id, wanted, Respond::with(once, &app.idempotency, created)).await
}
