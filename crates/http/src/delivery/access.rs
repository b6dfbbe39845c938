//! Who may watch: asked by every address below a playback ID, on every request.

use std::time::Duration;

use kinora_domain::{AccessPolicy, MediaState, PlaybackId, SourceId};

use crate::app::App;
use crate::error::ApiError;

/// What a viewer who was let in may be given.
#[derive(Debug, Clone)]
pub(super) struct Granted {
    /// Where the bytes of the media are.
    pub(super) source: SourceId,
    /// The picture turned out not to decode; what is left is the sound.
    pub(super) is_video_withdrawn: bool,
}

/// Answers of a moment ago.
pub(crate) struct AccessCache {
    known: moka::sync::Cache<PlaybackId, (u64, Answer)>,
}

#[derive(Debug, Clone)]
enum Answer {
    Granted(Granted),
    Private,
    Failed,
    Unknown,
}

impl AccessCache {
    /// A change by this process is seen at once, by another one within 0.5 s; this bounds what a missed one could do. A
    /// rule that changed is in force within 2 s, a negative answer lives 1 s (contract decisions 13 and 44).
    const REMEMBERED_FOR: Duration = Duration::from_secs(1);
    /// About 100 bytes each.
    const REMEMBERED_MAX: u64 = 100_000;

    pub(crate) fn new() -> Self {
        let known = moka::sync::Cache::builder()
            .max_capacity(Self::REMEMBERED_MAX)
            .time_to_live(Self::REMEMBERED_FOR)
            .build();
        Self { known }
    }
}

/// Whether this playback ID may be watched now.
///
/// 404 for an unknown one and for a media that failed, 401 for a private one (no playback token is understood yet), 400 while the
/// media is not ready (contract decisions 13 and 15).
pub(super) async fn grant(app: &App, playback: PlaybackId) -> Result<Granted, ApiError> {
    let generation = app.store.generation();
    let known = app.access.known.get(&playback).filter(|(at, _)| *at == generation);
    let answer = match known {
        Some((_, answer)) => answer,
        None => {
            let Some(answer) = look_up(app, playback).await? else { return Err(ApiError::not_ready()) };
            app.access.known.insert(playback, (generation, answer.clone()));
            answer
        }
    };
    match answer {
        Answer::Granted(granted) => Ok(granted),
        Answer::Private => Err(ApiError::playback_unauthorized()),
        Answer::Failed => Err(ApiError::playback_failed()),
        Answer::Unknown => Err(ApiError::playback_not_found()),
    }
}

/// `None` while the media is not ready: that is not remembered (contract decision 44).
async fn look_up(app: &App, playback: PlaybackId) -> Result<Option<Answer>, ApiError> {
    let Some(media) = app.store.media_of_playback(playback).await? else { return Ok(Some(Answer::Unknown)) };
    let Some(handle) = media.playback.iter().find(|handle| handle.id == playback) else {
        return Ok(Some(Answer::Unknown));
    };
    if handle.policy == AccessPolicy::Private {
        return Ok(Some(Answer::Private));
    }
    Ok(match media.state {
        MediaState::Ready { source, facts, .. } => {
            Some(Answer::Granted(Granted { source, is_video_withdrawn: facts.does_not_decode }))
        }
        MediaState::Failed { .. } => Some(Answer::Failed),
        MediaState::Created | MediaState::Downloading { .. } => None,
    })
}
