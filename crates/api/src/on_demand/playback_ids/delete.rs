use axum::extract::{RawQuery, State};
use kinora_domain::{MediaId, ParseIdError, PlaybackId};
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::{Data, Done};
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;

use super::view::PlaybackIdView;
use crate::ApiState;
use crate::error;

const PARAMETER: &str = "playbackId";

/// `DELETE /on-demand/{mediaId}/playback-ids?playbackId=`: nobody watches through it any more. It may be the last one.
///
/// 404 unless the media is in the caller's workspace and the playback ID is the media's, also the second time; 412 when the playback ID is
/// not what `If-Match` names.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<MediaId>,
    RawQuery(query): RawQuery,
    conditions: Conditions,
) -> Result<Done, ApiError> {
    let playback = parse(query.as_deref().unwrap_or(""))?;
    let now = app.clock.now();
    app.store
        .write(async move |tx| {
            let media = tx.media(caller.workspace, id).await?;
            if let Some(held) = media.as_ref().and_then(|media| media.playback(playback)) {
                conditions.check(|| Data::ok(PlaybackIdView::from(held)))?;
            }
            let removed = media.and_then(|media| media.remove_playback(playback, now));
            let (media, updated) = removed.ok_or_else(error::media_playback_not_found)?;
            tx.save_change(&media, Some(&updated)).await?;
            Ok::<_, ApiError>(())
        })
        .await?;
    Ok(Done)
}

fn parse(query: &str) -> Result<PlaybackId, ApiError> {
    let mut given = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == PARAMETER);
    let refused = |must: &str| ApiError::invalid_field(PARAMETER, must);
    let (_, id) = given.next().ok_or_else(|| refused("must not be null"))?;
    if given.next().is_some() {
        return Err(refused("must be given once"));
    }
    id.parse().map_err(|error: ParseIdError| refused(&error.to_string()))
}
