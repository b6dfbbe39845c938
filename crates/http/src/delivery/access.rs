//! Who may watch: asked by every address below a playback ID, on every request.

use std::sync::Arc;
use std::time::Duration;

use kinora_domain::{
    AccessPolicy, AddedTrackKind, Media, MediaState, Mp4Support, PlaybackId, Resolution, SourceId,
};
use kinora_packager::{OfferedSound, OfferedSubtitles};
use kinora_store::Version;

use super::original;
use super::subtitles::GrantedSubtitles;
use crate::app::App;
use crate::error::ApiError;

/// What a viewer who was let in may be given.
#[derive(Debug, Clone)]
pub(super) struct Granted {
    /// Where the bytes of the media are.
    pub(super) source: SourceId,
    /// Nothing larger is given.
    pub(super) max_resolution: Resolution,
    /// The moment whose picture stands for the media, where one was chosen.
    pub(super) thumbnail_ms: Option<u64>,
    /// The picture turned out not to decode; what is left is the sound.
    pub(super) is_video_withdrawn: bool,
    /// Subtitles that were added and are there.
    pub(super) subtitles: Arc<[GrantedSubtitles]>,
    /// Sound that was added and is there.
    pub(super) sounds: Arc<[OfferedSound]>,
    /// What the original is called, where it may be fetched.
    pub(super) original: Option<Arc<str>>,
    /// Which files are offered beside playback.
    pub(super) files: Mp4Support,
    /// What the database was when this was read of it.
    read_at: Version,
}

/// Answers of a moment ago: who was let in may be for a moment after something changed, who was refused is not refused by an
/// old answer. A client that was told of a new media by one process can play it from any other (decision 0029).
pub(crate) struct AccessCache {
    granted: moka::sync::Cache<PlaybackId, (u64, Granted)>,
    refused: moka::sync::Cache<PlaybackId, (Version, Refusal)>,
}

#[derive(Debug, Clone, Copy)]
enum Refusal {
    Private,
    Limited,
    Failed,
    Unknown,
}

enum Answer {
    Granted(Granted),
    Refused(Refusal),
    NotReady,
}

impl AccessCache {
    /// A change by this process is seen at once, by another one within 0.5 s; this bounds what a missed one could do. A
    /// rule that changed is in force within 2 s, a negative answer lives 1 s (contract decisions 13 and 44).
    const REMEMBERED_FOR: Duration = Duration::from_secs(1);
    /// About 100 bytes each, and some hundred for each track that was added.
    const REMEMBERED_MAX: u64 = 100_000;

    pub(crate) fn new() -> Self {
        Self { granted: cache(), refused: cache() }
    }
}

fn cache<T: Clone + Send + Sync + 'static>() -> moka::sync::Cache<PlaybackId, T> {
    moka::sync::Cache::builder()
        .max_capacity(AccessCache::REMEMBERED_MAX)
        .time_to_live(AccessCache::REMEMBERED_FOR)
        .build()
}

/// Whether this playback ID may be watched now.
///
/// 404 for an unknown one and for a media that failed, 401 for a private one (no playback token is understood yet), 403 for one that
/// could refuse or limit somebody (no rule is enforced yet), 400 while the media is not ready (contract decisions 12, 13 and 15).
pub(super) async fn grant(app: &App, playback: PlaybackId) -> Result<Granted, ApiError> {
    // Both taken before the row is read: a commit in between makes this answer old at once, never new.
    let generation = app.store.generation();
    if let Some((at, granted)) = app.access.granted.get(&playback)
        && at == generation
    {
        return Ok(granted);
    }
    let version = app.store.version().await?;
    if let Some((at, refusal)) = app.access.refused.get(&playback)
        && at == version
    {
        return Err(refusal.into());
    }
    match look_up(app, playback, version.clone()).await? {
        Answer::Granted(granted) => {
            app.access.granted.insert(playback, (generation, granted.clone()));
            Ok(granted)
        }
        Answer::Refused(refusal) => {
            app.access.refused.insert(playback, (version, refusal));
            Err(refusal.into())
        }
        // Not remembered (contract decision 44).
        Answer::NotReady => Err(ApiError::not_ready()),
    }
}

/// The same, for what a media may give or not give: an old answer never says that it does not.
///
/// What comes back may still say so; then it is as new as the database.
pub(super) async fn grant_that(
    app: &App,
    playback: PlaybackId,
    gives: impl Fn(&Granted) -> bool,
) -> Result<Granted, ApiError> {
    let granted = grant(app, playback).await?;
    if gives(&granted) || granted.read_at == app.store.version().await? {
        return Ok(granted);
    }
    app.access.granted.invalidate(&playback);
    grant(app, playback).await
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Private => Self::playback_unauthorized(),
            Refusal::Limited => Self::playback_limited(),
            Refusal::Failed => Self::playback_failed(),
            Refusal::Unknown => Self::playback_not_found(),
        }
    }
}

async fn look_up(app: &App, playback: PlaybackId, read_at: Version) -> Result<Answer, ApiError> {
    let unknown = Answer::Refused(Refusal::Unknown);
    let Some(media) = app.store.media_of_playback(playback).await? else { return Ok(unknown) };
    let Some(handle) = media.playback(playback) else { return Ok(unknown) };
    if handle.policy == AccessPolicy::Private {
        return Ok(Answer::Refused(Refusal::Private));
    }
    if handle.is_limited() {
        return Ok(Answer::Refused(Refusal::Limited));
    }
    let (subtitles, sounds) = (subtitles(&media), sounds(&media));
    let original = media.settings.source_access.then(|| original::name_of(&media).into());
    Ok(match media.state {
        MediaState::Ready { source, facts, .. } => Answer::Granted(Granted {
            source,
            max_resolution: media.settings.max_resolution,
            thumbnail_ms: media.thumbnail_ms,
            is_video_withdrawn: facts.does_not_decode,
            subtitles,
            sounds,
            original,
            files: media.settings.mp4_support,
            read_at,
        }),
        MediaState::Failed { .. } => Answer::Refused(Refusal::Failed),
        MediaState::Created | MediaState::Downloading { .. } => Answer::NotReady,
    })
}

fn subtitles(media: &Media) -> Arc<[GrantedSubtitles]> {
    let tracks = media.added.iter().filter(|track| track.wanted.kind == AddedTrackKind::Subtitle);
    let granted = tracks.filter_map(|track| {
        let offered = OfferedSubtitles {
            source: track.available()?,
            language_code: track.wanted.language_code.clone(),
            language_name: track.wanted.language_name.clone(),
        };
        Some(GrantedSubtitles { track: track.id, offered })
    });
    granted.collect()
}

fn sounds(media: &Media) -> Arc<[OfferedSound]> {
    let tracks = media.added.iter().filter(|track| track.wanted.kind == AddedTrackKind::Audio);
    let offered = tracks.filter_map(|track| {
        Some(OfferedSound {
            source: track.available()?,
            language_code: track.wanted.language_code.clone(),
            language_name: track.wanted.language_name.clone(),
        })
    });
    offered.collect()
}
