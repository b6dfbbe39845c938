//! `GET {base}/{playbackId}/{file}`: what lies directly below a playback ID.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::PlaybackId;
use kinora_packager::MediaFile;
use kinora_web::error::ApiError;
use kinora_web::extract::PlainParts;
use kinora_web::serve::ClientAddress;

use super::parameter::Viewer;
use super::viewing::Viewing;
use super::{clip, mp4, original, picture, storyboard};
use crate::DeliveryState;

/// What may lie directly below a playback ID.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let files = MediaFile::ALL.into_iter().map(MediaFile::name);
    let pictures = picture::NAMES.into_iter().chain(storyboard::NAMES).chain(clip::NAMES);
    std::iter::once(original::NAME).chain(files).chain(pictures)
}

/// Whether something with this name may lie directly below a playback ID.
pub(super) fn is_ours(file: &str) -> bool {
    names().any(|name| name == file)
}

/// The file with this name.
pub(super) async fn of_media(
    State(app): State<DeliveryState>,
    Extension(ClientAddress(address)): Extension<ClientAddress>,
    PlainParts([playback, file]): PlainParts<2>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let query = query.as_deref().unwrap_or("");
    // A name that is none of ours is told first, as for every other path.
    if !is_ours(&file) {
        return Err(ApiError::no_such_path());
    }
    let playback = PlaybackId::from_canonical(&playback).map_err(|_| ApiError::playback_not_found())?;
    if let Some(file) = mp4::of_name(&file) {
        return mp4::file(&app, playback, file, query, &request).await;
    }
    let viewing = Viewing::by_token(query, &request);
    let viewer = Viewer { playback, viewing: &viewing, address };
    match file.as_str() {
        original::NAME => original::original(&app, playback, query, &request).await,
        sheet if storyboard::NAMES.contains(&sheet) => {
            storyboard::storyboard(&app, viewer, sheet, query, &request).await
        }
        moving if clip::NAMES.contains(&moving) => clip::clip(&app, viewer, moving, query, &request).await,
        thumbnail => picture::thumbnail(&app, viewer, thumbnail, query, &request).await,
    }
}
