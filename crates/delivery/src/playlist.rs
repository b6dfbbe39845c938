//! A playlist as one stream: its media one after the other, each through its first playback ID that plays for
//! everybody, in clear.
//!
//! What is listed are segments of the media, below their own playback IDs; each asks for itself whether it
//! may be watched.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kinora_domain::{Encryption, Media, MediaState, PlaybackHandle, PlaylistId, PresentationId, Resolution};
use kinora_formats::Filler;
use kinora_index::Segment;
use kinora_packager::{Sequence, SequenceItem};
use kinora_store::{PlaylistEdition, Version};
use kinora_web::error::ApiError;
use kinora_web::extract::PlainParts;
use moka::future::Cache;

use super::gate::grant_playlist;
use super::manifest::PLAYLIST;
use super::send::{Caching, IMMUTABLE, Terms, send, send_changing_text};
use super::viewing::Viewing;
use crate::DeliveryState;
use crate::error;

/// Indexes that are read at once.
const READ_AT_ONCE: usize = 8;
/// The name of the playlist of the sound.
const SOUND: &str = "audio";

/// A text of a playlist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    /// What a player reads first.
    Multivariant,
    /// The pictures of a size.
    Pictures(Resolution),
    /// The sound.
    Sound,
}

/// Texts of playlists. What was deleted, or withdrawn, is gone from them at once: they are looked up by what
/// is in the playlist, and that by whether anything was written by anybody. Whoever asks for what is being
/// made waits for it.
pub struct PlaylistCache {
    editions: Cache<(PlaylistId, Version), PlaylistEdition>,
    texts: Cache<(PlaylistId, Part, PlaylistEdition), Bytes>,
}

/// Why there is no edition. Neither is cached.
#[derive(Clone)]
enum NoEdition {
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
    const EDITIONS_MAX: u64 = 1_000;
    /// Which pictures cannot be made is learned of other processes no sooner.
    const KEPT_FOR: Duration = Duration::from_secs(60);

    pub(crate) fn new() -> Self {
        let texts = Cache::builder()
            .max_capacity(Self::BYTES_MAX)
            .weigher(|_, text: &Bytes| u32::try_from(text.len()).unwrap_or(u32::MAX))
            .time_to_live(Self::KEPT_FOR)
            .build();
        Self { editions: Cache::new(Self::EDITIONS_MAX), texts }
    }

    /// The edition at this version of the database; `None` for an unknown playlist. Concurrent requests
    /// share one query.
    ///
    /// The version must be read before: after a commit in between, the edition is stale at once and never
    /// new.
    pub(super) async fn edition(
        &self,
        app: &DeliveryState,
        id: PlaylistId,
        version: Version,
    ) -> Result<Option<PlaylistEdition>, ApiError> {
        let edition = async {
            let edition =
                app.store.playlist_edition(id).await.map_err(|error| NoEdition::Failed(error.into()))?;
            edition.ok_or(NoEdition::Unknown)
        };
        match self.editions.try_get_with((id, version), edition).await.map_err(Arc::unwrap_or_clone) {
            Ok(edition) => Ok(Some(edition)),
            Err(NoEdition::Unknown) => Ok(None),
            Err(NoEdition::Failed(error)) => Err(error),
        }
    }
}

/// `GET {stream}/playlist/{playlistId}.m3u8`: what a player reads first. 404 for an unknown playlist, and for
/// one of which nothing plays.
pub(super) async fn multivariant(
    State(app): State<DeliveryState>,
    PlainParts([file]): PlainParts<1>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let name = file.strip_suffix(".m3u8").ok_or_else(ApiError::no_such_path)?;
    let id = PlaylistId::from_canonical(name).map_err(|_| error::no_such_playlist())?;
    answer(&app, id, Part::Multivariant, &request).await
}

/// `GET {stream}/playlist/{playlistId}/{file}`: `720p.m3u8` and so on, `audio.m3u8`. Changes with the
/// playlist.
pub(super) async fn media(
    State(app): State<DeliveryState>,
    PlainParts([playlist, file]): PlainParts<2>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let id = PlaylistId::from_canonical(&playlist).map_err(|_| ApiError::no_such_path())?;
    let name = file.strip_suffix(".m3u8").ok_or_else(ApiError::no_such_path)?;
    let part = match Resolution::from_text(name) {
        Some(size) => Part::Pictures(size),
        None if name == SOUND => Part::Sound,
        None => return Err(ApiError::no_such_path()),
    };
    answer(&app, id, part, &request).await
}

/// `GET {stream}/playlist/filler/{file}`: `black.mp4`, `silence-0-188.m4s` and so on. The same for everybody,
/// and never another.
pub(super) async fn filler(
    PlainParts([file]): PlainParts<1>,
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
        Terms::of_nobody(IMMUTABLE.into()),
    ))
}

async fn answer(
    app: &DeliveryState,
    id: PlaylistId,
    part: Part,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let edition = grant_playlist(app, id, &Viewing::by_path(None, request)).await?;
    let text =
        app.playlists.texts.try_get_with((id, part, edition), text(app, id, part)).await.map_err(shared)?;
    let terms = Terms::of_nobody(Caching::Short.for_everybody());
    Ok(send_changing_text(app, request, text, PLAYLIST, terms).await)
}

/// The refusal of everybody who waited.
fn shared(refused: Arc<ApiError>) -> ApiError {
    Arc::unwrap_or_clone(refused)
}

/// A text as it is now.
async fn text(app: &DeliveryState, id: PlaylistId, part: Part) -> Result<Bytes, ApiError> {
    let sequence = sequence(app, id).await?;
    let text = match part {
        Part::Multivariant => Some(
            sequence.multivariant(|size| format!("{id}/{}.m3u8", size.map_or(SOUND, Resolution::as_str))),
        ),
        Part::Pictures(size) => sequence.pictures(size, filler_address),
        Part::Sound => sequence.sound(filler_address),
    };
    text.map(Bytes::from).ok_or_else(ApiError::no_such_path)
}

/// What plays of a playlist now.
async fn sequence(app: &DeliveryState, id: PlaylistId) -> Result<Sequence, ApiError> {
    let (_, media) = app.store.playlist_by_id(id).await?.ok_or_else(error::no_such_playlist)?;
    let read = stream::iter(media).map(|media| async move { item(app, &media).await });
    let mut items = std::pin::pin!(read.buffered(READ_AT_ONCE));
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

/// A media among the others; `None` where it plays for nobody, or not for everybody, or only encrypted.
async fn item(app: &DeliveryState, media: &Media) -> Result<Option<SequenceItem>, ApiError> {
    let MediaState::Ready { source, facts, .. } = &media.state else { return Ok(None) };
    let is_plain =
        |handle: &&PlaybackHandle| handle.is_for_everybody() && handle.encryption == Encryption::None;
    let Some(playback) = media.playback.iter().find(is_plain) else { return Ok(None) };
    let packaged = match app.packager.packaged(PresentationId::of(*source)).await {
        Ok(packaged) => packaged,
        // Deleted a moment ago.
        Err(error) if matches!(error.root(), kinora_packager::Error::Gone) => return Ok(None),
        // One media that cannot be read takes no other along; its own address says so.
        Err(error) if matches!(error.root(), kinora_packager::Error::Damaged(_)) => return Ok(None),
        Err(error) => return Err(error::from_packager(error)),
    };
    // From the playlists of this playlist to the addresses below a playback ID.
    let base = format!("../../{}/{}/", playback.id, packaged.id());
    let max = media.settings.max_resolution;
    let item = app.packager.sequence_item(packaged, base, max, facts.does_not_decode).await;
    item.map_err(error::from_packager)
}

/// Where the files of fillers are, seen from the playlists of a playlist.
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

/// The bytes of a filler's file; each has one name.
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
    fn every_filler_has_one_name() {
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
