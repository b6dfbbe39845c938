//! The multivariant playlist of a media.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use kinora_domain::PlaybackId;
use kinora_packager::{AddedTracks, RenditionFilter};
use kinora_web::error::ApiError;
use kinora_web::extract::UnescapedPathParts;

use super::authorization::grant;
use super::playback_request::PlaybackRequest;
use super::rendition_filter;
use super::response::{CacheLifetime, send_changing_text};
use crate::DeliveryState;
use crate::error;

/// The MIME type of playlists (RFC 8216, 4), in lower case, as the web player expects it (C-177).
pub(super) const CONTENT_TYPE: &str = "application/vnd.apple.mpegurl";

/// `GET {stream}/{playbackId}.m3u8`: the multivariant playlist.
pub(super) async fn multivariant(
    State(app): State<DeliveryState>,
    UnescapedPathParts([file]): UnescapedPathParts<1>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let name = file.strip_suffix(".m3u8").ok_or_else(ApiError::no_such_path)?;
    let playback = PlaybackId::from_canonical(name).map_err(|_| ApiError::playback_not_found())?;
    let query = query.as_deref().unwrap_or("");
    let granted = grant(&app, playback, &PlaybackRequest::by_token(query, &request)).await?;
    let filter = rendition_filter::parse(query)?;
    let packaged = app.packager.packaged(granted.media.presentation).await.map_err(error::from_packager)?;
    let base = granted.folder(&app, packaged.id());
    let subtitles: Vec<_> =
        granted.media.subtitles.iter().map(|subtitles| subtitles.offered.clone()).collect();
    let added = AddedTracks { subtitles: &subtitles, audio: &granted.media.audio_tracks };
    let gains = &granted.media.gains;
    let text = if granted.media.is_video_withdrawn {
        let text =
            app.packager.audio_only(&packaged, &base, added, gains).await.map_err(error::from_packager)?;
        text.ok_or_else(error::playback_failed)?
    } else {
        let max = granted.max_resolution;
        let text = app
            .packager
            .multivariant(&packaged, &base, max, filter, added, gains)
            .await
            .map_err(error::from_packager)?;
        text.ok_or_else(|| {
            if filter == RenditionFilter::default() {
                error::playback_failed()
            } else {
                rendition_filter::no_rendition(filter)
            }
        })?
    };
    // The text depends on more than the index: on the query, on broken renditions and on the load of the
    // server.
    let policy = granted.response_policy(&app, CacheLifetime::Short);
    Ok(send_changing_text(&app, &request, Bytes::from(text), CONTENT_TYPE, policy).await)
}
