use axum::extract::State;
use kinora_domain::{AddedTrack, MediaId};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::envelope::RenderedResponse;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::idempotency::IdempotentRequest;

use super::request;
use super::view::AddedTrackView;
use crate::ApiState;
use crate::commit::IdempotentCommit;

/// `POST /on-demand/{mediaId}/tracks`: adds subtitles or audio to a media, in any state. Subtitles are
/// fetched at once, audio when the media is ready.
///
/// 201 with the track; 404 unless the media is in the caller's workspace, 400 when another track has the
/// language name or the media has reached the limit of tracks, 422 names each wrong field. The track, its
/// events and its job are one commit.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: WriteCaller,
    idempotent_request: IdempotentRequest,
    PathId(id): PathId<MediaId>,
    JsonBody(body): JsonBody,
) -> Result<RenderedResponse, ApiError> {
    let new_track = request::parse_new(&body)?;
    let render = |track: AddedTrack| Data::created(AddedTrackView::from(&track), Vec::new()).into_rendered();
    app.service
        .add_track(
            &caller,
            id,
            new_track,
            IdempotentCommit::new(idempotent_request, &app.idempotency, render),
        )
        .await
}
