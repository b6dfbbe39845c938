use axum::extract::State;
use kinora_domain::{AddedTrack, MediaId};
use kinora_store::Tx;

use super::request;
use super::view::TrackAnswer;
use crate::api::ApiState;
use crate::auth::Writer;
use crate::envelope::Answer;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::extract::{JsonBody, PathId};
use crate::once::Once;

/// `POST /on-demand/{mediaId}/tracks`: adds subtitles or sound to a media, in whatever state that is. Subtitles are fetched at once, sound when
/// the media is ready.
///
/// 201 with the track; 404 unless the media is in the caller's workspace, 400 when another track has the language name or the media has as many
/// as it can have, 422 names each wrong field. The track, its events and its job are one commit.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: Writer,
    once: Once,
    PathId(id): PathId<MediaId>,
    JsonBody(body): JsonBody,
) -> Result<Answer, ApiError> {
    let wanted = request::parse_new(&body)?;
    let now = app.clock.now();
    let track = AddedTrack::new(wanted, now, &*app.random);
    let work = async move |tx: &mut Tx| {
        let media = tx.media(caller.workspace, id).await?.ok_or_else(ApiError::media_not_found)?;
        let (media, events) = media.add_track(track.clone(), now).map_err(ApiError::track_refused)?;
        tx.save_tracks(&media, &events).await?;
        tx.fetch_track(&media, &track, now).await?;
        Ok(Data::created(TrackAnswer::from(&track), Vec::new()).into_answer())
    };
    once.write(&app.idempotency, work).await
}
