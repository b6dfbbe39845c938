//! `GET {base}/{playbackId}/{file}`: the files directly below a playback ID.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::PlaybackId;
use kinora_packager::Mp4File;
use kinora_web::error::ApiError;
use kinora_web::extract::UnescapedPathParts;
use kinora_web::serve::ClientAddress;

use super::image_query::ImageViewer;
use super::playback_request::PlaybackRequest;
use super::{mp4, preview_clip, source, storyboard, thumbnail};
use crate::DeliveryState;

/// Names of the files directly below a playback ID.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let files = Mp4File::ALL.into_iter().map(Mp4File::name);
    let images = thumbnail::NAMES.into_iter().chain(storyboard::NAMES).chain(preview_clip::NAMES);
    std::iter::once(source::NAME).chain(files).chain(images)
}

/// Whether a file with this name can be directly below a playback ID.
pub(super) fn is_known(file: &str) -> bool {
    names().any(|name| name == file)
}

/// Sends the file with this name.
pub(super) async fn media_file(
    State(app): State<DeliveryState>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    UnescapedPathParts([playback, file]): UnescapedPathParts<2>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let query = query.as_deref().unwrap_or("");
    // An unknown name is reported first, as for every other path.
    if !is_known(&file) {
        return Err(ApiError::no_such_path());
    }
    let playback = PlaybackId::from_canonical(&playback).map_err(|_| ApiError::playback_not_found())?;
    if let Some(file) = mp4::of_name(&file) {
        return mp4::file(&app, playback, file, query, &request).await;
    }
    let playback_request = PlaybackRequest::by_token(query, &request);
    let viewer = ImageViewer { playback, playback_request: &playback_request, address };
    match file.as_str() {
        source::NAME => source::source(&app, playback, query, &request).await,
        sheet if storyboard::NAMES.contains(&sheet) => {
            storyboard::storyboard(&app, viewer, sheet, query, &request).await
        }
        clip if preview_clip::NAMES.contains(&clip) => {
            preview_clip::preview_clip(&app, viewer, clip, query, &request).await
        }
        thumbnail => thumbnail::thumbnail(&app, viewer, thumbnail, query, &request).await,
    }
}
