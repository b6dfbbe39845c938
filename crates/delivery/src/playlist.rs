//! A playlist as one stream: its media one after another, each through its first playback ID that is open to
//! every viewer and unencrypted.
//!
//! The listed segments are those of the media, below their own playback IDs. Access to each is checked on
//! its own request.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kinora_domain::{
    Encryption, Media, MediaState, PlaybackIdSettings, PlaylistId, PresentationId, Resolution,
};
use kinora_formats::Filler;
use kinora_index::Segment;
use kinora_packager::{Sequence, SequenceItem};
use kinora_store::{DataVersion, PlaylistVersion};
use kinora_web::error::ApiError;
use kinora_web::extract::UnescapedPathParts;
use moka::future::Cache;

use super::authorization::grant_playlist;
use super::manifest::CONTENT_TYPE;
use super::playback_request::PlaybackRequest;
use super::response::{CacheLifetime, IMMUTABLE, ResponsePolicy, send, send_changing_text};
use crate::DeliveryState;
use crate::error;

/// Most indexes that are read concurrently.
const CONCURRENT_READS_MAX: usize = 8;
/// The name of the audio playlist.
const AUDIO: &str = "audio";

/// A text of a playlist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PlaylistFile {
    /// The multivariant playlist.
    Multivariant,
    /// The video of a resolution.
    Video(Resolution),
    /// The audio.
    Audio,
}

/// Caches the texts of playlists.
///
/// A deletion or withdrawal is visible at once: texts are cached by the version of the playlist, and that
/// version by the version of the database. Concurrent requests share one computation.
pub struct PlaylistCache {
    versions: Cache<(PlaylistId, DataVersion), PlaylistVersion>,
    texts: Cache<(PlaylistId, PlaylistFile, PlaylistVersion), Bytes>,
}

/// Why a playlist has no version. Neither reason is cached.
#[derive(Clone)]
enum PlaylistVersionError {
    Unknown,
    Failed(ApiError),
}

impl Default for PlaylistCache {
    fn default() -> Self {
        Self::new()
    }
}

impl PlaylistCache {
    /// The longest text has about 2 MB, most have some KiB.
    const BYTES_MAX: u64 = 32 << 20;
    /// Some KiB each at most: the version of PostgreSQL lists open transactions.
    const VERSIONS_MAX: u64 = 1_000;
    /// Longest time until this process learns of renditions that another process found impossible to make.
    const TIME_TO_LIVE: Duration = Duration::from_secs(60);

    pub(crate) fn new() -> Self {
        let texts = Cache::builder()
            .max_capacity(Self::BYTES_MAX)
            .weigher(|_, text: &Bytes| u32::try_from(text.len()).unwrap_or(u32::MAX))
            .time_to_live(Self::TIME_TO_LIVE)
            .build();
        Self { versions: Cache::new(Self::VERSIONS_MAX), texts }
    }

    /// The version of a playlist at this version of the database; `None` for an unknown playlist. Concurrent
    /// requests share one query.
    ///
    /// `version` must be read first: a commit in between makes the result stale, never too new.
    pub(super) async fn playlist_version(
        &self,
        app: &DeliveryState,
        id: PlaylistId,
        version: DataVersion,
    ) -> Result<Option<PlaylistVersion>, ApiError> {
        let query = async {
            let playlist_version = app
                .store
                .playlist_version(id)
                .await
                .map_err(|error| PlaylistVersionError::Failed(error.into()))?;
            playlist_version.ok_or(PlaylistVersionError::Unknown)
        };
        match self.versions.try_get_with((id, version), query).await.map_err(Arc::unwrap_or_clone) {
            Ok(playlist_version) => Ok(Some(playlist_version)),
            Err(PlaylistVersionError::Unknown) => Ok(None),
            Err(PlaylistVersionError::Failed(error)) => Err(error),
        }
    }
}

/// `GET {stream}/playlist/{playlistId}.m3u8`: the multivariant playlist. 404 for an unknown playlist, and
/// for one without any playable media.
pub(super) async fn multivariant(
    State(app): State<DeliveryState>,
    UnescapedPathParts([file]): UnescapedPathParts<1>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let name = file.strip_suffix(".m3u8").ok_or_else(ApiError::no_such_path)?;
    let id = PlaylistId::from_canonical(name).map_err(|_| error::playlist_not_found())?;
    answer(&app, id, PlaylistFile::Multivariant, &request).await
}

/// `GET {stream}/playlist/{playlistId}/{file}`: `720p.m3u8` and so on, `audio.m3u8`. Changes with the
/// playlist.
pub(super) async fn media(
    State(app): State<DeliveryState>,
    UnescapedPathParts([playlist, file]): UnescapedPathParts<2>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let id = PlaylistId::from_canonical(&playlist).map_err(|_| ApiError::no_such_path())?;
    let name = file.strip_suffix(".m3u8").ok_or_else(ApiError::no_such_path)?;
    let playlist_file = match Resolution::from_text(name) {
        Some(size) => PlaylistFile::Video(size),
        None if name == AUDIO => PlaylistFile::Audio,
        None => return Err(ApiError::no_such_path()),
    };
    answer(&app, id, playlist_file, &request).await
}

/// `GET {stream}/playlist/filler/{file}`: `black.mp4`, `silence-0-188.m4s` and so on. The same for every
/// viewer, and immutable.
pub(super) async fn filler(
    UnescapedPathParts([file]): UnescapedPathParts<1>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let (filler, bytes) = filler_bytes(&file).ok_or_else(ApiError::no_such_path)?;
    let content_type = match filler {
        Filler::Black => "video/mp4",
        Filler::Silence => "audio/mp4",
    };
    Ok(send(
        &request,
        Bytes::from(bytes),
        content_type,
        format!("\"{file}\""),
        ResponsePolicy::unmetered(IMMUTABLE.into()),
    ))
}

async fn answer(
    app: &DeliveryState,
    id: PlaylistId,
    playlist_file: PlaylistFile,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let playlist_version = grant_playlist(app, id, &PlaybackRequest::by_path(None, request)).await?;
    let text = app
        .playlists
        .texts
        .try_get_with((id, playlist_file, playlist_version), text(app, id, playlist_file))
        .await
        .map_err(shared_error)?;
    let policy = ResponsePolicy::unmetered(CacheLifetime::Short.public());
    Ok(send_changing_text(app, request, text, CONTENT_TYPE, policy).await)
}

/// The error of a shared computation, for each request that waited for it.
fn shared_error(error: Arc<ApiError>) -> ApiError {
    Arc::unwrap_or_clone(error)
}

/// Makes a text from the current state of the playlist.
async fn text(app: &DeliveryState, id: PlaylistId, playlist_file: PlaylistFile) -> Result<Bytes, ApiError> {
    let sequence = sequence(app, id).await?;
    let text = match playlist_file {
        PlaylistFile::Multivariant => Some(
            sequence.multivariant(|size| format!("{id}/{}.m3u8", size.map_or(AUDIO, Resolution::as_str))),
        ),
        PlaylistFile::Video(size) => sequence.video_playlist(size, filler_address),
        PlaylistFile::Audio => sequence.audio_playlist(filler_address),
    };
    text.map(Bytes::from).ok_or_else(ApiError::no_such_path)
}

/// The media of a playlist that are playable now. 404 for an unknown playlist, and where there are none.
async fn sequence(app: &DeliveryState, id: PlaylistId) -> Result<Sequence, ApiError> {
    let (_, media) = app.store.playlist_by_id(id).await?.ok_or_else(error::playlist_not_found)?;
    let read = stream::iter(media).map(|media| async move { item(app, &media).await });
    let mut items = std::pin::pin!(read.buffered(CONCURRENT_READS_MAX));
    let mut sequence = Sequence::default();
    while let Some(item) = items.try_next().await? {
        if let Some(item) = item
            && !sequence.push(item)
        {
            break;
        }
    }
    if sequence.is_empty() { Err(error::playlist_empty()) } else { Ok(sequence) }
}

/// One media of the sequence; `None` where it is not playable, not open to every viewer, or only encrypted.
async fn item(app: &DeliveryState, media: &Media) -> Result<Option<SequenceItem>, ApiError> {
    let MediaState::Ready { source, facts, .. } = &media.state else { return Ok(None) };
    let is_plain = |playback_settings: &&PlaybackIdSettings| {
        playback_settings.is_unrestricted() && playback_settings.encryption == Encryption::None
    };
    let Some(playback) = media.playback_ids.iter().find(is_plain) else { return Ok(None) };
    let packaged = match app.packager.packaged(PresentationId::of(*source)).await {
        Ok(packaged) => packaged,
        // Deleted since the playlist was read.
        Err(error) if matches!(error.root(), kinora_packager::Error::Gone) => return Ok(None),
        // One media that cannot be read does not break the others; its own address reports the error.
        Err(error) if matches!(error.root(), kinora_packager::Error::Damaged(_)) => return Ok(None),
        Err(error) => return Err(error::from_packager(error)),
    };
    // The path from the playlists of this playlist to the addresses below a playback ID.
    let base = format!("../../{}/{}/", playback.id, packaged.id());
    let max = media.settings.max_resolution;
    let item = app.packager.sequence_item(packaged, base, max, facts.does_not_decode, &media.gains()).await;
    item.map_err(error::from_packager)
}

/// The address of a filler's file, relative to the playlists of a playlist.
fn filler_address(filler: Filler, segment: Option<&Segment>) -> String {
    format!("../filler/{}", filler_name(filler, segment.map(Filler::frames)))
}

fn filler_name(filler: Filler, frames: Option<(u32, u32)>) -> String {
    let kind = match filler {
        Filler::Black => "black",
        Filler::Silence => "silence",
    };
    match frames {
        None => format!("{kind}.mp4"),
        Some((first, count)) => format!("{kind}-{first}-{count}.m4s"),
    }
}

/// The bytes of a filler's file; each has one name. `None` for other names.
fn filler_bytes(file: &str) -> Option<(Filler, Vec<u8>)> {
    for filler in [Filler::Black, Filler::Silence] {
        if file == filler_name(filler, None) {
            return Some((filler, filler.init()));
        }
        let frames = file.strip_suffix(".m4s").and_then(|name| {
            let mut parts = name.split('-').skip(1);
            Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
        });
        if let Some((first, count)) = frames
            && file == filler_name(filler, frames)
        {
            return Some((filler, filler.segment(first, count)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_filler_names_parse() {
        for name in ["black.mp4", "silence.mp4", "black-0-1.m4s", "silence-0-188.m4s", "black-188-47.m4s"] {
            assert!(filler_bytes(name).is_some_and(|(_, bytes)| !bytes.is_empty()), "{name}");
        }
        for none in [
            "",
            "black",
            "black.m4s",
            "grey.mp4",
            "black-0.m4s",
            "black-0-0.m4s",
            "black-0-189.m4s",
            "black-00-1.m4s",
            "black-+0-1.m4s",
            "black-0-1-2.m4s",
            "silence--1-1.m4s",
            "silence-4294967295-1.m4s",
        ] {
            assert!(filler_bytes(none).is_none(), "{none}");
        }
    }
}
