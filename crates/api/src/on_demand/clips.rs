use axum::extract::{FromRequestParts, RawPathParams, State};
use axum::http::request::Parts;
use kinora_domain::MediaId;
use kinora_store::MediaFilter;
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::pagination::ListQuery;

use crate::ApiState;
use crate::error;
use crate::view::ClipView;

/// Longest id of a stream, in characters (C-115).
pub(super) const STREAM_ID_MAX: usize = 255;

/// The id of a stream as it was sent, in any form. 404 when it is not valid text: no stream has such an id.
pub(crate) struct LivestreamId(String);

impl LivestreamId {
    const NAME: &str = "livestreamId";
}

impl<S: Send + Sync> FromRequestParts<S> for LivestreamId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|_| ApiError::no_such_path())?;
        let id = params.iter().find(|(name, _)| *name == Self::NAME).map(|(_, id)| id.to_owned());
        id.map(Self).ok_or_else(ApiError::no_such_path)
    }
}

/// `GET /on-demand/{mediaId}/media-clips`: a page of the clips of a media, by creation time.
///
/// 404 unless the media is in the caller's workspace (C-136).
pub(crate) async fn media_clips(
    State(app): State<ApiState>,
    caller: ReadCaller,
    PathId(id): PathId<MediaId>,
    query: ListQuery,
) -> Result<Data<Vec<ClipView>>, ApiError> {
    let page_request = query.into_page_request("media clips")?;
    app.store.media(caller.workspace, id).await?.ok_or_else(error::media_not_found)?;
    let filter = MediaFilter { clip_of: Some(id), ..MediaFilter::default() };
    let found = app.store.media_list(caller.workspace, &filter, page_request.list_page).await?;
    let views = found.items.iter().map(|media| ClipView::new(media, &app.base_urls)).collect();
    Ok(page_request.respond(&app.base_urls, &found, views))
}

/// `GET /on-demand/{livestreamId}/live-clips`: the media that were cut from a live stream. The list is empty
/// for every id, since there are no live streams (D-0066).
///
/// The id of a stream is no UUID, so its form is not checked (C-136).
pub(crate) async fn live_clips(
    _: ReadCaller,
    LivestreamId(id): LivestreamId,
    query: ListQuery,
) -> Result<Data<[(); 0]>, ApiError> {
    let page_request = query.into_page_request("live clips")?;
    if id.chars().count() > STREAM_ID_MAX {
        let problem = format!("must have at most {STREAM_ID_MAX} characters");
        return Err(ApiError::invalid_field(LivestreamId::NAME, problem));
    }
    Ok(page_request.empty())
}
