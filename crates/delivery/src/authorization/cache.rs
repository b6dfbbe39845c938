//! The rows that the access check needs for an id of playable content, cached for a second.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kinora_domain::{
    Encryption, KeyRef, Media, MediaState, PathError, PlaybackId, PlaybackPolicy, PlaylistId, Timestamp,
    ViewerCredential, WorkspaceId,
};
use kinora_store::DataVersion;
use kinora_web::error::ApiError;

use super::{Playable, PlayableId, PlayableMedia};
use crate::DeliveryState;
use crate::token::TokenCache;

/// Caches the results of the last second.
///
/// A cached result may still admit a viewer shortly after a change. It never rejects one: [`super::admit`]
/// reads the row again first, so a client that one process notified of a new media can play it from any
/// other (D-0029).
pub struct AuthorizationCache {
    found: moka::sync::Cache<PlayableId, (u64, Arc<CachedPlayable>)>,
    missing: moka::sync::Cache<PlayableId, DataVersion>,
    pub(crate) tokens: TokenCache,
}

/// The row of an id of playable content.
pub(super) struct CachedPlayable {
    /// `None` for a playlist, which every viewer may fetch.
    pub(super) rules: Option<Rules>,
    pub(super) state: PlayableState,
    /// The version of the database before the row was read.
    pub(super) data_version: DataVersion,
}

/// The rules of a playback ID.
pub(super) struct Rules {
    pub(super) policy: Arc<PlaybackPolicy>,
    /// The workspace whose keys sign playback tokens.
    pub(super) workspace: WorkspaceId,
    /// A key that admitted viewers and exists.
    ///
    /// Most viewers have tokens of the same key, so it is not looked up for each segment. Keys are cached
    /// for at most 1 s, and so is this: a deleted key admits no viewer after 2 s, even if the notification
    /// of the change was missed.
    pub(super) existing_key: OnceLock<KeyRef>,
}

pub(super) enum PlayableState {
    Ready(Playable),
    Failed,
    NotReady,
}

impl Default for AuthorizationCache {
    fn default() -> Self {
        Self::new()
    }
}

impl AuthorizationCache {
    /// A change by this process applies at once, by another one within 0.5 s. This bounds the effect of a
    /// missed notification. A changed rule applies within 2 s, a negative result lives 1 s (C-13, C-44).
    const TIME_TO_LIVE: Duration = Duration::from_secs(1);
    /// About 200 bytes each, and some hundred for each added track. Entries with many rules weigh more.
    const ENTRIES_MAX: u64 = 100_000;
    /// The number of rule entries, of at most 255 bytes each, that take as much memory as another playback
    /// ID.
    const RULES_PER_ENTRY: usize = 4;

    pub(crate) fn new() -> Self {
        let weigh = |_: &PlayableId, (_, cached): &(u64, Arc<CachedPlayable>)| {
            let rules = cached.rules.as_ref().map_or(0, |rules| rules.policy.entry_count());
            u32::try_from(1 + rules / Self::RULES_PER_ENTRY).unwrap_or(u32::MAX)
        };
        let found = moka::sync::Cache::builder()
            .max_capacity(Self::ENTRIES_MAX)
            .weigher(weigh)
            .time_to_live(Self::TIME_TO_LIVE)
            .build();
        let missing = moka::sync::Cache::builder()
            .max_capacity(Self::ENTRIES_MAX)
            .time_to_live(Self::TIME_TO_LIVE)
            .build();
        Self { found, missing, tokens: TokenCache::new() }
    }
}

/// A row, and whether it comes from the cache.
pub(super) struct Lookup {
    pub(super) cached: Arc<CachedPlayable>,
    pub(super) is_hit: bool,
}

/// The cached row, or that of the database; 404 for an unknown id.
pub(super) async fn find(app: &DeliveryState, id: PlayableId) -> Result<Lookup, ApiError> {
    if let Some((at, cached)) = app.authorization.found.get(&id)
        && at == app.store.generation()
    {
        return Ok(Lookup { cached, is_hit: true });
    }
    // Boxed to keep the future of a cache hit small.
    let cached = Box::pin(read(app, id)).await?;
    Ok(Lookup { cached, is_hit: false })
}

/// Reads the row from the database and caches it; 404 for an unknown id.
pub(super) async fn read(app: &DeliveryState, id: PlayableId) -> Result<Arc<CachedPlayable>, ApiError> {
    // Both are read before the row: a commit in between makes this entry stale, never too new.
    let generation = app.store.generation();
    let version = app.store.version().await?;
    if app.authorization.missing.get(&id).is_some_and(|at| at == version) {
        return Err(id.not_found());
    }
    let Some(cached) = CachedPlayable::read(app, id, version.clone()).await? else {
        app.authorization.missing.insert(id, version);
        return Err(id.not_found());
    };
    let cached = Arc::new(cached);
    // A media that is not ready is not cached (C-44).
    if !matches!(cached.state, PlayableState::NotReady) {
        app.authorization.found.insert(id, (generation, Arc::clone(&cached)));
    }
    Ok(cached)
}

impl CachedPlayable {
    async fn read(
        app: &DeliveryState,
        id: PlayableId,
        data_version: DataVersion,
    ) -> Result<Option<Self>, ApiError> {
        match id {
            PlayableId::Playback(playback) => match app.store.media_of_playback(playback).await? {
                Some(media) => Self::of_media(app, &media, playback, data_version).await,
                None => Ok(None),
            },
            PlayableId::Playlist(playlist) => Self::of_playlist(app, playlist, data_version).await,
        }
    }

    /// `None` where the media does not have this playback ID.
    pub(super) async fn of_media(
        app: &DeliveryState,
        media: &Media,
        playback: PlaybackId,
        data_version: DataVersion,
    ) -> Result<Option<Self>, ApiError> {
        let Some(playback_settings) = media.playback_id(playback) else { return Ok(None) };
        let policy = Arc::new(PlaybackPolicy::of(playback_settings));
        let key = match playback_settings.encryption {
            Encryption::None => None,
            // A playback ID without its key was deleted between both queries.
            Encryption::Aes128 => match app.store.content_key(playback).await? {
                Some(key) => Some(key),
                None => return Ok(None),
            },
        };
        let state = match &media.state {
            MediaState::Ready { source, facts, .. } => PlayableState::Ready(Playable::Media(Arc::new(
                PlayableMedia::new(media, playback, *source, facts, key, &policy),
            ))),
            MediaState::Failed { .. } => PlayableState::Failed,
            MediaState::Created | MediaState::Downloading { .. } => PlayableState::NotReady,
        };
        let rules = Rules { policy, workspace: media.workspace, existing_key: OnceLock::new() };
        Ok(Some(Self { rules: Some(rules), state, data_version }))
    }

    async fn of_playlist(
        app: &DeliveryState,
        playlist: PlaylistId,
        data_version: DataVersion,
    ) -> Result<Option<Self>, ApiError> {
        let playlist_version = app.playlists.playlist_version(app, playlist, data_version.clone()).await?;
        Ok(playlist_version.map(|version| Self {
            rules: None,
            state: PlayableState::Ready(Playable::Playlist(version)),
            data_version,
        }))
    }

    /// Rejects a path from the future: none of our clocks can have signed it yet.
    pub(super) fn reject_implausible_path(
        &self,
        credential: ViewerCredential,
        now: Timestamp,
    ) -> ViewerCredential {
        match (credential, &self.state) {
            (ViewerCredential::Path(Ok(claims)), PlayableState::Ready(Playable::Media(media)))
                if !claims.is_plausible(media.duration_us, now) =>
            {
                ViewerCredential::Path(Err(PathError::NotYetValid))
            }
            (admission, _) => admission,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cached grant may come from a key that was itself cached for as long: together the 2 s of C-13.
    #[test]
    fn cached_grant_expires_within_1_s() {
        let cache = AuthorizationCache::new();
        for ttl in [cache.found.policy().time_to_live(), cache.missing.policy().time_to_live()] {
            assert!(ttl.is_some_and(|ttl| ttl <= Duration::from_secs(1)), "{ttl:?}");
        }
    }
}
