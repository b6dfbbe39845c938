use axum::extract::State;
use axum::response::Response;
use kinora_domain::{MediaId, PlaybackId};
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::PathIds;
use kinora_web::preconditions::{Preconditions, TaggedResponse};

use super::view::PlaybackIdView;
use crate::ApiState;
use crate::error;

/// `GET /on-demand/{mediaId}/playback-ids/{playbackId}`: one playback ID.
///
/// 404 unless the media is in the caller's workspace and the playback ID is the media's.
pub(super) async fn read(
    State(app): State<ApiState>,
    caller: ReadCaller,
    PathIds(media, playback): PathIds<MediaId, PlaybackId>,
    conditions: Preconditions,
) -> Result<Response, ApiError> {
    let media = app.store.media(caller.workspace, media).await?;
    let found = media.as_ref().and_then(|media| media.playback_id(playback));
    let found = found.ok_or_else(error::media_playback_not_found)?;
    conditions.respond(TaggedResponse::of(&Data::ok(PlaybackIdView::from(found))))
}
