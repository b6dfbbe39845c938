use axum::extract::State;
use kinora_domain::{Media, MediaId, PlaybackHandle};
use kinora_web::auth::Writer;
use kinora_web::envelope::Answer;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::once::Once;

use super::request;
use super::view::{PlaybackIdView, warnings_of_new};
use crate::ApiState;
use crate::commit::Respond;

/// `POST /on-demand/{mediaId}/playback-ids`: a further way to watch a media, in whatever state that is.
///
/// 201 with the playback ID; 404 unless the media is in the caller's workspace, 400 when it has as many as it
/// can have, 422 names each wrong field. The playback ID and its event are one commit; asked twice without an
/// `Idempotency-Key`, there are two.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: Writer,
    once: Once,
    PathId(id): PathId<MediaId>,
    JsonBody(body): JsonBody,
) -> Result<Answer, ApiError> {
    let new = request::parse(&body)?;
    let created = |(playback, media): (PlaybackHandle, Media)| {
        let warnings = warnings_of_new(&playback, &media);
        Data::created(PlaybackIdView::from(&playback), warnings).into_answer()
    };
    app.service.create_playback_id(&caller, id, new, Respond::with(once, &app.idempotency, created)).await
}
