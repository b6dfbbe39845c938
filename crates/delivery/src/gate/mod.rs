//! The one gate: every address that plays something of a workspace passes it, on every request.
//!
//! `GET {stream}/{playbackId}.m3u8`: [`cached`] finds what the playback ID plays, [`ticket`] checks the
//! token or the signed path, and [`PlaybackPolicy::decide`] applies the rules. The answer holds an
//! [`offer`]: what this viewer may fetch, and the cache policy. A playlist passes the same way; it has no
//! policy of its own, since each of its media is asked for below its own playback ID.

mod cached;
mod offer;
mod ticket;

use std::sync::Arc;

use kinora_domain::{
    Media, Page, PlaybackId, PlaybackPolicy, PlaybackRefusal, PlaylistId, Resolution, Timestamp, Viewer,
};
use kinora_store::PlaylistEdition;
use kinora_web::error::ApiError;

use super::viewing::Viewing;
use crate::DeliveryState;
use crate::error;

pub use cached::GateCache;
use cached::{Cached, Found, State};
use offer::Access;
pub(super) use offer::{Granted, Offer, asks};
pub(super) use ticket::PlaybackSession;

/// The id in an address that plays something.
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
            Self::Playlist(_) => error::no_such_playlist(),
        }
    }
}

/// What an address plays.
#[derive(Debug, Clone)]
pub(super) enum Playable {
    /// A ready media.
    Media(Arc<Offer>),
    /// A playlist, by a hash of all that its playlists depend on.
    Playlist(PlaylistEdition),
}

/// A viewer who passed the gate.
struct Admitted {
    playable: Playable,
    /// The bound of the playback ID, where it has one.
    cap: Option<Resolution>,
    access: Access,
}

/// What the gate decides about a request.
enum Decision {
    Admitted(Admitted),
    /// The token, the signed path or a rule of the playback ID forbids it.
    Forbidden(PlaybackRefusal),
    Failed,
    NotReady,
}

/// Admits a viewer to a media.
///
/// Errors: 404 for an unknown playback ID and for a media that failed, 401 for a token or a signed path
/// that is not valid, 403 where a rule forbids it, 400 while the media is not ready
/// (C-12, C-13, C-15). A refusal writes nothing and is counted by its reason.
pub(super) async fn grant(
    app: &DeliveryState,
    playback: PlaybackId,
    viewing: &Viewing<'_>,
) -> Result<Granted, ApiError> {
    grant_that(app, playback, viewing, |_| true).await
}

/// Like [`grant`], for a media that has to offer something: a download, its original file.
///
/// Where `gives` is false of a cached media, the media is read again. The result may still not offer it;
/// then that is the current state. Errors as of [`grant`].
pub(super) async fn grant_that(
    app: &DeliveryState,
    playback: PlaybackId,
    viewing: &Viewing<'_>,
    gives: impl Fn(&Offer) -> bool,
) -> Result<Granted, ApiError> {
    let id = PlayableId::Playback(playback);
    let gives = |playable: &Playable| matches!(playable, Playable::Media(offer) if gives(offer));
    Admitted::granted(admit(app, id, viewing, gives).await?).ok_or_else(|| id.not_found())
}

/// The current edition of a playlist: changes by any process are in it. 404 for an unknown playlist.
pub(super) async fn grant_playlist(
    app: &DeliveryState,
    playlist: PlaylistId,
    viewing: &Viewing<'_>,
) -> Result<PlaylistEdition, ApiError> {
    let id = PlayableId::Playlist(playlist);
    match admit(app, id, viewing, |_| false).await?.playable {
        Playable::Playlist(edition) => Ok(edition),
        Playable::Media(_) => Err(id.not_found()),
    }
}

async fn admit(
    app: &DeliveryState,
    id: PlayableId,
    viewing: &Viewing<'_>,
    gives: impl Fn(&Playable) -> bool,
) -> Result<Admitted, ApiError> {
    let Found { cached, is_hit } = cached::find(app, id).await?;
    let mut decision = authorize(app, &cached, viewing).await?;
    let may_be_stale = match &decision {
        Decision::Admitted(admitted) => !gives(&admitted.playable),
        Decision::Forbidden(refusal) => !refusal.is_of_request(),
        Decision::Failed | Decision::NotReady => true,
    };
    if is_hit && may_be_stale && cached.read_at != app.store.version().await? {
        let cached = Box::pin(cached::read(app, id)).await?;
        decision = authorize(app, &cached, viewing).await?;
    }
    decision.into_result()
}

/// The media behind the player page, and whether a viewer may watch it.
pub(super) struct Entrance {
    pub(super) media: Media,
    pub(super) policy: Arc<PlaybackPolicy>,
    /// Why the viewer may not. `None` also while the media is not ready.
    pub(super) refused: Option<PlaybackRefusal>,
}

/// The gate of the player page and of oEmbed; `None` for an unknown playback ID. Nothing of it is cached:
/// pages are requested rarely.
pub(super) async fn enter(
    app: &DeliveryState,
    playback: PlaybackId,
    viewing: &Viewing<'_>,
) -> Result<Option<Entrance>, ApiError> {
    let version = app.store.version().await?;
    let Some(media) = app.store.media_of_playback(playback).await? else { return Ok(None) };
    let Some(read) = Cached::of_media(app, &media, playback, version).await? else { return Ok(None) };
    let refused = match authorize(app, &read, viewing).await? {
        Decision::Forbidden(refusal) => Some(refusal),
        Decision::Admitted(_) | Decision::NotReady | Decision::Failed => None,
    };
    Ok(read.rules.map(|rules| Entrance { media, policy: rules.policy, refused }))
}

/// The policy comes before the state: a forbidden viewer does not learn whether the media is ready.
async fn authorize(
    app: &DeliveryState,
    cached: &Cached,
    viewing: &Viewing<'_>,
) -> Result<Decision, ApiError> {
    let Some(rules) = &cached.rules else {
        return Ok(cached.state.admit(None, Access::of_everybody()));
    };
    let policy = &*rules.policy;
    let user_agent = viewing.user_agent();
    let admission = ticket::admission(app, rules, viewing).await?;
    // One reading of the clock: with two, what ends in between would be admitted with no time left.
    let now = app.clock.now();
    let admission = cached.in_time(admission, now);
    // The page is read only where a rule asks for it. The page of the player is signed in any case: a rule
    // may come later.
    let page = if policy.asks_for_page() { viewing.page(&app.addresses) } else { Page::Unknown };
    let frame = if policy.is_restricted() { viewing.frame(&admission) } else { None };
    let viewer = Viewer { admission, page, frame, user_agent: user_agent.as_deref() };
    Ok(decide(app, cached, policy, &viewer, now))
}

fn decide(
    app: &DeliveryState,
    cached: &Cached,
    policy: &PlaybackPolicy,
    viewer: &Viewer<'_>,
    now: Timestamp,
) -> Decision {
    let allowed = match policy.decide(viewer, now) {
        Ok(allowed) => allowed,
        Err(refusal) => return Decision::Forbidden(refusal),
    };
    let left_s = ticket::left_s(&viewer.admission, now);
    let shared_s = left_s.and_then(|left_s| ticket::shared_s(app.shared_max_age_s, asks(policy), left_s));
    cached.state.admit(allowed.resolution, Access { ticket: allowed.ticket, left_s, shared_s })
}

impl Decision {
    /// Counts what is forbidden.
    fn into_result(self) -> Result<Admitted, ApiError> {
        match self {
            Self::Admitted(admitted) => Ok(admitted),
            Self::Forbidden(refusal) => Err(refuse(refusal)),
            Self::Failed => Err(error::playback_failed()),
            Self::NotReady => Err(error::not_ready()),
        }
    }
}

impl Admitted {
    /// The media, with the bounds of this playback ID. `None` for what is no media.
    fn granted(self) -> Option<Granted> {
        let Self { playable: Playable::Media(offer), cap, access } = self else { return None };
        let max_resolution = offer.max_resolution.min(cap.unwrap_or(offer.max_resolution));
        Some(Granted { offer, max_resolution, cap, access })
    }
}

impl State {
    /// The decision about a viewer whom no rule refuses.
    fn admit(&self, cap: Option<Resolution>, access: Access) -> Decision {
        match self {
            Self::Ready(playable) => Decision::Admitted(Admitted { playable: playable.clone(), cap, access }),
            Self::Failed => Decision::Failed,
            Self::NotReady => Decision::NotReady,
        }
    }
}

/// The refusal of an admitted viewer who asked for more than the playback ID gives; counted.
pub(super) fn too_large(max: Resolution) -> ApiError {
    count("resolution");
    error::above_playback_resolution(max)
}

/// The refusal of a viewer, counted by its reason.
pub(super) fn refuse(refusal: PlaybackRefusal) -> ApiError {
    count(refusal.name());
    error::playback_refused(refusal)
}

/// Counts a refusal.
pub(super) fn count(reason: &'static str) {
    metrics::counter!("kinora_playback_refused_total", "reason" => reason).increment(1);
}
