//! What the gate knows of an id that plays something, cached for a second.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kinora_domain::{
    Admission, Encryption, KeyMark, Media, MediaState, PathRefusal, PlaybackId, PlaybackPolicy, PlaylistId,
    Timestamp, WorkspaceId,
};
use kinora_store::Version;
use kinora_web::error::ApiError;

use super::{Offer, Playable, PlayableId};
use crate::DeliveryState;
use crate::token::Tokens;

/// Answers of the last second. A cached answer may admit a viewer for a moment after a change. It never
/// refuses one: [`super::admit`] reads the row again first, so a client that one process notified of a new
/// media can play it from any other (D-0029).
pub struct GateCache {
    known: moka::sync::Cache<PlayableId, (u64, Arc<Cached>)>,
    unknown: moka::sync::Cache<PlayableId, Version>,
    pub(crate) tokens: Tokens,
}

/// A row that plays something.
pub(super) struct Cached {
    /// `None` for a playlist, which anyone may fetch.
    pub(super) rules: Option<Rules>,
    pub(super) state: State,
    /// The version of the database before this was read.
    pub(super) read_at: Version,
}

/// Who may watch through a playback ID.
pub(super) struct Rules {
    pub(super) policy: Arc<PlaybackPolicy>,
    /// The workspace whose keys sign playback tokens.
    pub(super) workspace: WorkspaceId,
    /// A key that admitted viewers and exists: most viewers have the same one, and it is not looked up for
    /// each segment. Keys are cached for at most 1 s, and so is this: a deleted key admits nobody after 2
    /// s, even if no change was heard of.
    pub(super) key_there: OnceLock<KeyMark>,
}

pub(super) enum State {
    Ready(Playable),
    Failed,
    NotReady,
}

impl Default for GateCache {
    fn default() -> Self {
        Self::new()
    }
}

impl GateCache {
    /// A change by this process applies at once, by another one within 0.5 s; this bounds the effect of a
    /// missed one. A changed rule applies within 2 s, a negative answer lives 1 s
    /// (C-13, C-44).
    const TIME_TO_LIVE: Duration = Duration::from_secs(1);
    /// About 200 bytes each, and some hundred for each added track. Those with many rules count for more.
    const ENTRIES_MAX: u64 = 100_000;
    /// So many entries of rules, of 255 bytes at most, take as much memory as another playback ID.
    const RULES_OF_ONE: usize = 4;

    pub(crate) fn new() -> Self {
        let weigh = |_: &PlayableId, (_, cached): &(u64, Arc<Cached>)| {
            let rules = cached.rules.as_ref().map_or(0, |rules| rules.policy.entries());
            u32::try_from(1 + rules / Self::RULES_OF_ONE).unwrap_or(u32::MAX)
        };
        let known = moka::sync::Cache::builder()
            .max_capacity(Self::ENTRIES_MAX)
            .weigher(weigh)
            .time_to_live(Self::TIME_TO_LIVE)
            .build();
        let unknown = moka::sync::Cache::builder()
            .max_capacity(Self::ENTRIES_MAX)
            .time_to_live(Self::TIME_TO_LIVE)
            .build();
        Self { known, unknown, tokens: Tokens::new() }
    }
}

/// A row, and whether it comes from the cache.
pub(super) struct Found {
    pub(super) cached: Arc<Cached>,
    pub(super) is_hit: bool,
}

/// The cached row, or that of the database; 404 for an unknown id.
pub(super) async fn find(app: &DeliveryState, id: PlayableId) -> Result<Found, ApiError> {
    if let Some((at, cached)) = app.gate.known.get(&id)
        && at == app.store.generation()
    {
        return Ok(Found { cached, is_hit: true });
    }
    // Boxed to keep the future of a cache hit small.
    let cached = Box::pin(read(app, id)).await?;
    Ok(Found { cached, is_hit: false })
}

/// The row of the database, which is cached then; 404 for an unknown id.
pub(super) async fn read(app: &DeliveryState, id: PlayableId) -> Result<Arc<Cached>, ApiError> {
    // Both taken before the row is read: after a commit in between, this answer is stale and never new.
    let generation = app.store.generation();
    let version = app.store.version().await?;
    if app.gate.unknown.get(&id).is_some_and(|at| at == version) {
        return Err(id.not_found());
    }
    let Some(cached) = Cached::read(app, id, version.clone()).await? else {
        app.gate.unknown.insert(id, version);
        return Err(id.not_found());
    };
    let cached = Arc::new(cached);
    // What is not ready is not cached (C-44).
    if !matches!(cached.state, State::NotReady) {
        app.gate.known.insert(id, (generation, Arc::clone(&cached)));
    }
    Ok(cached)
}

impl Cached {
    async fn read(app: &DeliveryState, id: PlayableId, read_at: Version) -> Result<Option<Self>, ApiError> {
        match id {
            PlayableId::Playback(playback) => match app.store.media_of_playback(playback).await? {
                Some(media) => Self::of_media(app, &media, playback, read_at).await,
                None => Ok(None),
            },
            PlayableId::Playlist(playlist) => Self::of_playlist(app, playlist, read_at).await,
        }
    }

    /// `None` where the media does not have this playback ID.
    pub(super) async fn of_media(
        app: &DeliveryState,
        media: &Media,
        playback: PlaybackId,
        read_at: Version,
    ) -> Result<Option<Self>, ApiError> {
        let Some(handle) = media.playback(playback) else { return Ok(None) };
        let policy = Arc::new(PlaybackPolicy::of(handle));
        let key = match handle.encryption {
            Encryption::None => None,
            // A playback ID without its key was deleted between both queries.
            Encryption::Aes128 => match app.store.content_key(playback).await? {
                Some(key) => Some(key),
                None => return Ok(None),
            },
        };
        let state = match &media.state {
            MediaState::Ready { source, facts, .. } => State::Ready(Playable::Media(Arc::new(Offer::new(
                media, playback, *source, facts, key, &policy,
            )))),
            MediaState::Failed { .. } => State::Failed,
            MediaState::Created | MediaState::Downloading { .. } => State::NotReady,
        };
        let rules = Rules { policy, workspace: media.workspace, key_there: OnceLock::new() };
        Ok(Some(Self { rules: Some(rules), state, read_at }))
    }

    async fn of_playlist(
        app: &DeliveryState,
        playlist: PlaylistId,
        read_at: Version,
    ) -> Result<Option<Self>, ApiError> {
        let edition = app.playlists.edition(app, playlist, read_at.clone()).await?;
        Ok(edition.map(|edition| Self {
            rules: None,
            state: State::Ready(Playable::Playlist(edition)),
            read_at,
        }))
    }

    /// Refuses a path that none of our clocks can have signed by now.
    pub(super) fn in_time(&self, admission: Admission, now: Timestamp) -> Admission {
        match (admission, &self.state) {
            (Admission::Path(Ok(ticket)), State::Ready(Playable::Media(offer)))
                if !ticket.could_be_made(offer.length_us, now) =>
            {
                Admission::Path(Err(PathRefusal::Future))
            }
            (admission, _) => admission,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grant may come from a key that was cached for as long: together the 2 s of C-13.
    #[test]
    fn cached_grant_expires_within_1_s() {
        let cache = GateCache::new();
        for ttl in [cache.known.policy().time_to_live(), cache.unknown.policy().time_to_live()] {
            assert!(ttl.is_some_and(|ttl| ttl <= Duration::from_secs(1)), "{ttl:?}");
        }
    }
}
