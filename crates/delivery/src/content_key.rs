//! `{playbackId}/{indexId}/aes-128/key`, and the same below a signed path: the key of the encrypted segments
//! (RFC 8216, 5.1; D-0087).

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::PlaybackId;
use kinora_web::error::ApiError;
use kinora_web::extract::UnescapedPathParts;

use super::authorization::grant;
use super::playback_request::PlaybackRequest;
use crate::DeliveryState;
use crate::error;

/// The last part of its address.
pub(super) const NAME: &str = "key";
/// Its address, relative to the playlists.
pub(super) const URI: &str = "../aes-128/key";

/// `GET {stream}/{playbackId}/{indexId}/aes-128/key`: 16 bytes. 404 where nothing is encrypted.
pub(super) async fn key(
    State(app): State<DeliveryState>,
    UnescapedPathParts([playback, index]): UnescapedPathParts<2>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    answer(&app, &playback, &index, &PlaybackRequest::by_path(None, &request)).await
}

/// `GET {stream}/{playbackId}/{signed}/{indexId}/aes-128/key`: the same for restricted content.
pub(super) async fn signed_key(
    State(app): State<DeliveryState>,
    UnescapedPathParts([playback, signed, index]): UnescapedPathParts<3>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    answer(&app, &playback, &index, &PlaybackRequest::by_path(Some(signed), &request)).await
}

async fn answer(
    app: &DeliveryState,
    playback: &str,
    index: &str,
    playback_request: &PlaybackRequest<'_>,
) -> Result<Response, ApiError> {
    let playback = PlaybackId::from_canonical(playback).map_err(|_| ApiError::no_such_path())?;
    let granted = grant(app, playback, playback_request).await?;
    let packaged = app.packager.packaged(granted.media.presentation).await.map_err(error::from_packager)?;
    let key = granted.media.key.as_ref().filter(|_| index == packaged.id().to_string());
    let key = key.ok_or_else(ApiError::no_such_path)?;
    // A cache that stores copies of the media must not store its key.
    let headers = [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, key.as_bytes().to_vec()).into_response())
}
