use axum::extract::State;
use kinora_domain::{Media, MediaId, PlaybackIdSettings};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::envelope::RenderedResponse;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::idempotency::IdempotentRequest;

use super::request;
use super::view::{PlaybackIdView, warnings_of_new};
use crate::ApiState;
use crate::commit::IdempotentCommit;

/// `POST /on-demand/{mediaId}/playback-ids`: adds a playback ID to a media, in any state.
///
/// 201 with the playback ID; 404 unless the media is in the caller's workspace, 400 when it has reached the
/// limit of playback IDs, 422 names each wrong field. The playback ID and its event are one commit. Without
/// an `Idempotency-Key`, a repeated request adds a second playback ID.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: WriteCaller,
    idempotent_request: IdempotentRequest,
    PathId(id): PathId<MediaId>,
    JsonBody(body): JsonBody,
) -> Result<RenderedResponse, ApiError> {
    let new = request::parse(&body)?;
    let render = |(playback, media): (PlaybackIdSettings, Media)| {
        let warnings = warnings_of_new(&playback, &media);
        Data::created(PlaybackIdView::from(&playback), warnings).into_rendered()
    };
    app.service
        .create_playback_id(
            &caller,
            id,
            new,
            IdempotentCommit::new(idempotent_request, &app.idempotency, render),
        )
        .await
}
