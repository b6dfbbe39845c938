//! Subtitles that were added to a media: a whole file, and playlists with segments, as for video and audio.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::{PlaybackId, SourceId, TrackId};
use kinora_packager::{Packaged, SubtitleName};
use kinora_web::error::ApiError;
use kinora_web::extract::UnescapedPathParts;

use super::authorization::{Granted, grant};
use super::manifest::CONTENT_TYPE;
use super::playback_request::PlaybackRequest;
use super::response::{CacheLifetime, send_text};
use crate::DeliveryState;
use crate::error;

/// WebVTT, 7: always UTF-8.
const WEBVTT: &str = "text/vtt";

/// `GET {stream}/{playbackId}/subtitles/{trackId}.vtt`: the whole file (C-21). The address stays the same
/// when the track gets another file, so the response is cached briefly.
pub(super) async fn file(
    State(app): State<DeliveryState>,
    UnescapedPathParts([playback, file]): UnescapedPathParts<2>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let playback = PlaybackId::from_canonical(&playback).map_err(|_| ApiError::no_such_path())?;
    let track = file.strip_suffix(".vtt").and_then(|track| track.parse::<TrackId>().ok());
    let track = track.filter(|track| file == format!("{track}.vtt")).ok_or_else(ApiError::no_such_path)?;
    let playback_request = PlaybackRequest::by_token(query.as_deref().unwrap_or(""), &request);
    let granted = grant(&app, playback, &playback_request).await?;
    let entry = granted.media.subtitles.iter().find(|subtitles| subtitles.track == track);
    let source = entry.ok_or_else(ApiError::no_such_path)?.offered.source;
    let bytes = app.packager.subtitle_file(source).await.map_err(error::from_packager)?;
    let policy = granted.response_policy(&app, CacheLifetime::Short);
    Ok(send_text(&app, &request, bytes, WEBVTT, format!("\"{source}\""), policy).await)
}

/// `GET {stream}/{playbackId}/{indexId}/subtitles-{id}/{file}`: `playlist.m3u8`, `{n}.vtt`. Each file has
/// its own id, so the content below it never changes.
pub(super) async fn child(
    app: &DeliveryState,
    request: &HeaderMap,
    granted: &Granted,
    packaged: &Packaged,
    SubtitleName(source): SubtitleName,
    file: File,
) -> Result<Response, ApiError> {
    if !is_available(granted, source) {
        return Err(ApiError::no_such_path());
    }
    let etag = |name: &str| format!("\"{}-{source}-{name}\"", packaged.id());
    let policy = granted.response_policy(app, CacheLifetime::Immutable);
    match file {
        File::Playlist => {
            let text = packaged.subtitle_playlist();
            Ok(send_text(app, request, text, CONTENT_TYPE, etag("playlist"), policy).await)
        }
        File::Segment(number) => {
            let bytes = app
                .packager
                .subtitle_segment(packaged, source, number)
                .await
                .map_err(error::from_packager)?;
            Ok(send_text(app, request, bytes, WEBVTT, etag(&number.to_string()), policy).await)
        }
    }
}

fn is_available(granted: &Granted, source: SourceId) -> bool {
    granted.media.subtitles.iter().any(|subtitles| subtitles.offered.source == source)
}

/// The last part of an address of subtitles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    Playlist,
    Segment(u32),
}

impl File {
    pub(super) fn from_text(text: &str) -> Option<Self> {
        if text == "playlist.m3u8" {
            return Some(Self::Playlist);
        }
        let number: u32 = text.strip_suffix(".vtt")?.parse().ok()?;
        // Each segment has one address: `+1.vtt` and `01.vtt` do not exist.
        (text == format!("{number}.vtt")).then_some(Self::Segment(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_file_names_parse() {
        let check = |text, file| assert_eq!(File::from_text(text), file, "{text}");
        check("playlist.m3u8", Some(File::Playlist));
        check("0.vtt", Some(File::Segment(0)));
        check("4294967295.vtt", Some(File::Segment(u32::MAX)));
        for none in ["4294967296.vtt", "+1.vtt", "01.vtt", ".vtt", "1.m4s", "1", "init.mp4", "Playlist.m3u8"]
        {
            check(none, None);
        }
    }
}
