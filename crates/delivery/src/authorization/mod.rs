//! The access check of delivery: every request to an address that plays content of a workspace passes it.
//!
//! `GET {stream}/{playbackId}.m3u8`: [`cache`] finds the media of the playback ID, [`credential`] checks the
//! token, the pass or the signed path, and [`PlaybackPolicy::decide`] applies the rules. The result holds a
//! [`grant`](mod@grant): the content that this viewer may fetch, and the cache policy. A playlist passes the
//! same steps. It has no policy of its own, since each of its media is requested below its own playback ID.

mod cache;
mod credential;
mod grant;

use std::sync::Arc;

use kinora_domain::{
    AccessProof, Media, Page, PathBinding, PlaybackDenied, PlaybackId, PlaybackPolicy, PlaylistId,
    Resolution, Timestamp, Viewer,
};
use kinora_store::PlaylistVersion;
use kinora_web::error::ApiError;

use super::playback_request::PlaybackRequest;
use crate::DeliveryState;
use crate::error;

pub use cache::AuthorizationCache;
use cache::{CachedPlayable, Lookup, PlayableState};
pub(super) use credential::PlaybackSession;
use grant::GrantScope;
pub(super) use grant::{Granted, PlayableMedia, vary_on};

/// The id in an address of playable content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PlayableId {
    /// `{playbackId}`: a media, through one of its playback IDs.
    Playback(PlaybackId),
    /// `playlist/{playlistId}`.
    Playlist(PlaylistId),
}

impl PlayableId {
    fn not_found(self) -> ApiError {
        match self {
            Self::Playback(_) => ApiError::playback_not_found(),
            Self::Playlist(_) => error::playlist_not_found(),
        }
    }
}

/// The content of an address.
#[derive(Debug, Clone)]
pub(super) enum Playable {
    /// A ready media.
    Media(Arc<PlayableMedia>),
    /// A playlist, by a hash of all that its playlists depend on.
    Playlist(PlaylistVersion),
}

/// An admitted viewer.
struct Admitted {
    playable: Playable,
    /// The bound of the playback ID, where it has one.
    playback_max_resolution: Option<Resolution>,
    scope: GrantScope,
}

/// The decision about a request.
enum Decision {
    Admitted(Admitted),
    /// The token, the pass, the signed path or a rule of the playback ID forbids it.
    Rejected(PlaybackDenied),
    Failed,
    NotReady,
}

/// Admits a viewer to a media.
///
/// Errors: 404 for an unknown playback ID and for a media that failed, 401 for a token, a pass or a signed
/// path that is not valid, 403 where a rule forbids it, 400 while the media is not ready (C-12, C-13, C-15).
/// A rejection writes nothing and is counted by its reason.
pub(super) async fn grant(
    app: &DeliveryState,
    playback: PlaybackId,
    playback_request: &PlaybackRequest<'_>,
) -> Result<Granted, ApiError> {
    grant_if(app, playback, playback_request, |_| true).await
}

/// Like [`grant()`], for a media that must offer a certain file: a download, its original file.
///
/// Where `has_file` is false for a cached media, the media is read again. The result may still not offer the
/// file; then that is the current state. Errors as of [`grant()`].
pub(super) async fn grant_if(
    app: &DeliveryState,
    playback: PlaybackId,
    playback_request: &PlaybackRequest<'_>,
    has_file: impl Fn(&PlayableMedia) -> bool,
) -> Result<Granted, ApiError> {
    let id = PlayableId::Playback(playback);
    let has_file = |playable: &Playable| matches!(playable, Playable::Media(media) if has_file(media));
    Admitted::into_grant(admit(app, id, playback_request, has_file).await?).ok_or_else(|| id.not_found())
}

/// The current version of a playlist, with the changes of every process. 404 for an unknown playlist.
pub(super) async fn grant_playlist(
    app: &DeliveryState,
    playlist: PlaylistId,
    playback_request: &PlaybackRequest<'_>,
) -> Result<PlaylistVersion, ApiError> {
    let id = PlayableId::Playlist(playlist);
    match admit(app, id, playback_request, |_| false).await?.playable {
        Playable::Playlist(playlist_version) => Ok(playlist_version),
        Playable::Media(_) => Err(id.not_found()),
    }
}

async fn admit(
    app: &DeliveryState,
    id: PlayableId,
    playback_request: &PlaybackRequest<'_>,
    has_file: impl Fn(&Playable) -> bool,
) -> Result<Admitted, ApiError> {
    let Lookup { cached, is_hit } = cache::find(app, id).await?;
    let mut decision = authorize(app, &cached, playback_request).await?;
    let may_be_stale = match &decision {
        Decision::Admitted(admitted) => !has_file(&admitted.playable),
        Decision::Rejected(rejection) => !rejection.is_caused_by_request(),
        Decision::Failed | Decision::NotReady => true,
    };
    if is_hit && may_be_stale && cached.data_version != app.store.version().await? {
        let cached = Box::pin(cache::read(app, id)).await?;
        decision = authorize(app, &cached, playback_request).await?;
    }
    decision.into_result()
}

/// The media of a player page, and whether the viewer may watch it.
pub(super) struct PageAccess {
    pub(super) media: Media,
    pub(super) policy: Arc<PlaybackPolicy>,
    /// Why the viewer may not watch it. `None` also while the media is not ready.
    pub(super) rejection: Option<PlaybackDenied>,
}

/// Checks access for the player page and for oEmbed; `None` for an unknown playback ID. Nothing is cached,
/// since pages are requested rarely.
pub(super) async fn page_access(
    app: &DeliveryState,
    playback: PlaybackId,
    playback_request: &PlaybackRequest<'_>,
) -> Result<Option<PageAccess>, ApiError> {
    let version = app.store.version().await?;
    let Some(media) = app.store.media_of_playback(playback).await? else { return Ok(None) };
    let Some(cached) = CachedPlayable::of_media(app, &media, playback, version).await? else {
        return Ok(None);
    };
    let refused = match authorize(app, &cached, playback_request).await? {
        Decision::Rejected(rejection) => Some(rejection),
        Decision::Admitted(_) | Decision::NotReady | Decision::Failed => None,
    };
    Ok(cached.rules.map(|rules| PageAccess { media, policy: rules.policy, rejection: refused }))
}

/// Applies the policy before the state: a forbidden viewer does not learn whether the media is ready.
async fn authorize(
    app: &DeliveryState,
    cached: &CachedPlayable,
    playback_request: &PlaybackRequest<'_>,
) -> Result<Decision, ApiError> {
    let Some(rules) = &cached.rules else {
        return Ok(cached.state.admit(None, GrantScope::public()));
    };
    let policy = &*rules.policy;
    let user_agent = playback_request.user_agent();
    let checked = credential::check_credential(app, rules, playback_request).await?;
    // The clock is read once: with two readings, a path that expires in between would be admitted with no
    // time left.
    let now = app.clock.now();
    let credential = cached.reject_implausible_path(checked, now);
    // The page is read only where a rule depends on it. The page that embeds the player is signed in any
    // case, since a rule may be added later.
    let page = if policy.varies_on_page() { playback_request.page(&app.base_urls) } else { Page::Unknown };
    let embedding_page =
        if policy.is_restricted() { playback_request.embedding_page(&credential) } else { None };
    let viewer = Viewer { credential, page, embedding_page, user_agent: user_agent.as_deref() };
    Ok(decide(app, cached, policy, &viewer, now))
}

fn decide(
    app: &DeliveryState,
    cached: &CachedPlayable,
    policy: &PlaybackPolicy,
    viewer: &Viewer<'_>,
    now: Timestamp,
) -> Decision {
    let allowed = match policy.decide(viewer, now) {
        Ok(allowed) => allowed,
        Err(rejection) => return Decision::Rejected(rejection),
    };
    let expires_in_s = credential::expires_in_s(&viewer.credential, now);
    // No shared cache stores what a pass opens: the next viewer of the address needs no pass.
    let is_by_pass = matches!(allowed.binding, Some(PathBinding { proof: AccessProof::Pass, .. }));
    let s_maxage_s = expires_in_s
        .filter(|_| !is_by_pass)
        .and_then(|remaining_s| credential::s_maxage_s(app.shared_max_age_s, vary_on(policy), remaining_s));
    cached.state.admit(allowed.resolution, GrantScope { binding: allowed.binding, expires_in_s, s_maxage_s })
}

impl Decision {
    /// Converts the decision to a result, and counts a forbidden request.
    fn into_result(self) -> Result<Admitted, ApiError> {
        match self {
            Self::Admitted(admitted) => Ok(admitted),
            Self::Rejected(rejection) => Err(reject(rejection)),
            Self::Failed => Err(error::playback_failed()),
            Self::NotReady => Err(error::not_ready()),
        }
    }
}

impl Admitted {
    /// The media, with the bounds of this playback ID. `None` for a playlist.
    fn into_grant(self) -> Option<Granted> {
        let Self { playable: Playable::Media(media), playback_max_resolution, scope } = self else {
            return None;
        };
        let max_resolution =
            media.max_resolution.min(playback_max_resolution.unwrap_or(media.max_resolution));
        Some(Granted { media, max_resolution, playback_max_resolution, scope })
    }
}

impl PlayableState {
    /// The decision about a viewer whom no rule forbids.
    fn admit(&self, playback_max_resolution: Option<Resolution>, scope: GrantScope) -> Decision {
        match self {
            Self::Ready(playable) => {
                Decision::Admitted(Admitted { playable: playable.clone(), playback_max_resolution, scope })
            }
            Self::Failed => Decision::Failed,
            Self::NotReady => Decision::NotReady,
        }
    }
}

/// 403 for an admitted viewer that requests more than the playback ID offers; counted.
pub(super) fn reject_resolution(max: Resolution) -> ApiError {
    count_rejection("resolution");
    error::above_playback_resolution(max)
}

/// The rejection of a viewer, counted by its reason.
pub(super) fn reject(rejection: PlaybackDenied) -> ApiError {
    count_rejection(rejection.name());
    error::playback_denied(rejection)
}

/// Counts a rejection.
pub(super) fn count_rejection(reason: &'static str) {
    metrics::counter!("kinora_playback_refused_total", "reason" => reason).increment(1);
}
