use axum::extract::State;
use kinora_domain::MediaId;
use kinora_web::auth::Reader;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{PathId, PathParts};
use kinora_web::list_query::ListQuery;

use crate::ApiState;
use crate::error;

/// Longest id of a stream, in characters (contract 1.5).
pub(super) const STREAM_ID_MAX: usize = 255;

/// `GET /on-demand/{mediaId}/media-clips`: the media that were cut from this one. None yet: there is no way to cut one.
///
/// 404 unless the media is in the caller's workspace.
pub(crate) async fn media_clips(
    State(app): State<ApiState>,
    caller: Reader,
    PathId(id): PathId<MediaId>,
    query: ListQuery,
) -> Result<Data<[(); 0]>, ApiError> {
    let listing = query.of_list("media clips")?;
    app.store.media(caller.workspace, id).await?.ok_or_else(error::media_not_found)?;
    Ok(listing.empty())
}

/// `GET /on-demand/{livestreamId}/live-clips`: the media that were cut from a live stream. None yet, whatever the id: there are no live streams
/// (decision 0066).
///
/// The id of a stream is no UUID, so its form is not looked at.
pub(crate) async fn live_clips(
    _: Reader,
    PathParts([id]): PathParts<1>,
    query: ListQuery,
) -> Result<Data<[(); 0]>, ApiError> {
    let listing = query.of_list("live clips")?;
    if id.chars().count() > STREAM_ID_MAX {
        let problem = format!("must have at most {STREAM_ID_MAX} characters");
        return Err(ApiError::invalid_field("livestreamId", problem));
    }
    Ok(listing.empty())
}
