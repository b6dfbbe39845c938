//! `{playbackId}/{indexId}/aes-128/key`, and the same below a signed path: the key of what is encrypted (RFC
//! 8216, 5.1; D-0087).

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::PlaybackId;
use kinora_web::error::ApiError;
use kinora_web::extract::PlainParts;

use super::gate::grant;
use super::viewing::Viewing;
use crate::DeliveryState;
use crate::error;

/// The last part of its address.
pub(super) const NAME: &str = "key";
/// Where it lies, seen from the playlists.
pub(super) const URI: &str = "../aes-128/key";

/// `GET {stream}/{playbackId}/{indexId}/aes-128/key`: 16 bytes. 404 where nothing is encrypted.
pub(super) async fn key(
    State(app): State<DeliveryState>,
    PlainParts([playback, index]): PlainParts<2>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    answer(&app, &playback, &index, &Viewing::by_path(None, &request)).await
}

/// `GET {stream}/{playbackId}/{signed}/{indexId}/aes-128/key`: the same of what not everybody may watch.
pub(super) async fn signed_key(
    State(app): State<DeliveryState>,
    PlainParts([playback, signed, index]): PlainParts<3>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    answer(&app, &playback, &index, &Viewing::by_path(Some(signed), &request)).await
}

async fn answer(
    app: &DeliveryState,
    playback: &str,
    index: &str,
    viewing: &Viewing<'_>,
) -> Result<Response, ApiError> {
    let playback = PlaybackId::from_canonical(playback).map_err(|_| ApiError::no_such_path())?;
    let granted = grant(app, playback, viewing).await?;
    let packaged = app.packager.packaged(granted.offer.presentation).await.map_err(error::from_packager)?;
    let key = granted.offer.key.as_ref().filter(|_| index == packaged.id().to_string());
    let key = key.ok_or_else(ApiError::no_such_path)?;
    // Where copies of the media are kept no copy of this may be.
    let headers = [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, key.as_bytes().to_vec()).into_response())
}
