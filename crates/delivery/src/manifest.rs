//! The multivariant playlist of a media.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use kinora_domain::PlaybackId;
use kinora_packager::{Added, Wanted};
use kinora_web::error::ApiError;
use kinora_web::extract::PlainParts;

use super::gate::grant;
use super::send::{Caching, send_changing_text};
use super::viewing::Viewing;
use super::wanted;
use crate::DeliveryState;
use crate::error;

/// RFC 8216, 4: the type of playlists; in lower case, as the web player looks for it (C-177).
pub(super) const PLAYLIST: &str = "application/vnd.apple.mpegurl";

/// `GET {stream}/{playbackId}.m3u8`: what a player reads first.
pub(super) async fn multivariant(
    State(app): State<DeliveryState>,
    PlainParts([file]): PlainParts<1>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let name = file.strip_suffix(".m3u8").ok_or_else(ApiError::no_such_path)?;
    let playback = PlaybackId::from_canonical(name).map_err(|_| ApiError::playback_not_found())?;
    let query = query.as_deref().unwrap_or("");
    let granted = grant(&app, playback, &Viewing::by_token(query, &request)).await?;
    let wanted = wanted::parse(query)?;
    let packaged = app.packager.packaged(granted.offer.presentation).await.map_err(error::from_packager)?;
    let base = granted.folder(&app, packaged.id());
    let subtitles: Vec<_> =
        granted.offer.subtitles.iter().map(|subtitles| subtitles.offered.clone()).collect();
    let added = Added { subtitles: &subtitles, sounds: &granted.offer.sounds };
    let text = if granted.offer.is_video_withdrawn {
        let text = app.packager.audio_only(&packaged, &base, added).await.map_err(error::from_packager)?;
        text.ok_or_else(error::playback_failed)?
    } else {
        let max = granted.max_resolution;
        let text = app
            .packager
            .multivariant(&packaged, &base, max, wanted, added)
            .await
            .map_err(error::from_packager)?;
        text.ok_or_else(|| {
            if wanted == Wanted::default() { error::playback_failed() } else { wanted::none(wanted) }
        })?
    };
    // What is offered depends on more than the index: on what was asked for, on what is broken, on how busy
    // the server is.
    let terms = granted.terms(&app, Caching::Short);
    Ok(send_changing_text(&app, &request, Bytes::from(text), PLAYLIST, terms).await)
}
