//! Who may watch: asked by every address below a playback ID, on every request.
//!
//! The rule is [`PlaybackPolicy::decide`]; here are the rows it needs, remembered for a moment.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::{
    AddedTrackKind, Admission, ContentKey, Encryption, KeyMark, Media, MediaState, Mp4Support, Page,
    PathRefusal, PathTicket, PlaybackId, PlaybackPolicy, PlaybackRefusal, Resolution, SourceId, TicketFacts,
    Timestamp, TokenRefusal, Viewer, WorkspaceId,
};
use kinora_packager::{OfferedSound, OfferedSubtitles};
use kinora_store::Version;

use super::counted::Account;
use super::original;
use super::send::{Asks, Caching, Terms};
use super::subtitles::GrantedSubtitles;
use super::token::{self, Tokens};
use super::viewing::{Pass, Viewing};
use crate::app::App;
use crate::error::ApiError;

/// What a media gives through one playback ID, to whomever.
#[derive(Debug)]
pub(super) struct Offer {
    /// Through what it is watched.
    playback: PlaybackId,
    /// Whose the media is.
    workspace: WorkspaceId,
    /// Where the bytes of the media are.
    pub(super) source: SourceId,
    /// The bound of the media, whatever that of the playback ID: what is joined to files is joined for all its playback IDs.
    pub(super) max_resolution: Resolution,
    /// The moment whose picture stands for the media, where one was chosen.
    pub(super) thumbnail_ms: Option<u64>,
    /// The picture turned out not to decode; what is left is the sound.
    pub(super) is_video_withdrawn: bool,
    /// Subtitles that were added and are there.
    pub(super) subtitles: Box<[GrantedSubtitles]>,
    /// Sound that was added and is there.
    pub(super) sounds: Box<[OfferedSound]>,
    /// What the original is called, where it may be fetched.
    pub(super) original: Option<String>,
    /// How large the pictures of the original are.
    pub(super) source_resolution: Option<Resolution>,
    /// Which files are offered beside playback.
    pub(super) files: Mp4Support,
    /// With what everything that plays is encrypted on its way; `None`: with nothing.
    pub(super) key: Option<ContentKey>,
    /// How long it is.
    pub(super) length_us: u64,
    /// By what rules decide.
    asks: Asks,
}

/// What a viewer who was let in may be given.
#[derive(Debug)]
pub(super) struct Granted {
    /// What there is.
    pub(super) offer: Arc<Offer>,
    /// Nothing larger is given: the bound of the media, and of the playback ID.
    pub(super) max_resolution: Resolution,
    /// The bound of the playback ID alone, where it has one.
    pub(super) cap: Option<Resolution>,
    /// What the paths of its children say; `None` where everybody has the same ones.
    ticket: Option<TicketFacts>,
    /// How long the signature of its path still holds, in seconds: nobody keeps it for longer. `None` where no path let the viewer in.
    left_s: Option<u32>,
    /// For how long caches in between may keep what never changes under this path.
    shared_s: Option<u32>,
}

impl Granted {
    /// On which terms an answer is given. What not everybody may have is kept by its viewer alone and not for long, where nothing else is set
    /// (contract decision 13).
    pub(super) fn terms(&self, app: &App, caching: Caching) -> Terms {
        let keeping = match self.ticket {
            None => caching.for_everybody(),
            Some(_) => caching.for_those_who_know(self.left_s, self.shared_s),
        };
        Terms {
            keeping: keeping.asking(self.offer.asks),
            account: Some(Account::new(app, self.offer.workspace)),
        }
    }

    /// Whether a key of the workspace let the viewer in, as one does to what is private.
    pub(super) fn is_by_key(&self) -> bool {
        self.ticket.as_ref().is_some_and(|facts| facts.key.is_some())
    }

    /// 403 where nothing of it is given in clear, for what cannot be given otherwise. Pictures and subtitles are no part of it.
    pub(super) fn in_clear(&self) -> Result<(), ApiError> {
        if self.offer.key.is_none() {
            return Ok(());
        }
        count("encrypted");
        Err(ApiError::playback_encrypted())
    }

    /// Where its children lie, seen from the manifest: `{playbackId}/{indexId}/`, or `{playbackId}/{signed}/{indexId}/`.
    pub(super) fn folder(&self, app: &App, index: impl std::fmt::Display) -> String {
        let Offer { playback, length_us, .. } = *self.offer;
        let Some(facts) = &self.ticket else {
            return format!("{playback}/{index}/");
        };
        let ticket = PathTicket::new(playback, facts.clone(), length_us, app.clock.now());
        format!("{playback}/{}/{index}/", URL_SAFE_NO_PAD.encode(app.store.sign_path(&ticket)))
    }
}

/// Answers of a moment ago: who was let in may be for a moment after something changed, who was refused is not refused by an
/// old answer. A client that was told of a new media by one process can play it from any other (decision 0029).
pub(crate) struct AccessCache {
    known: moka::sync::Cache<PlaybackId, (u64, Arc<Known>)>,
    unknown: moka::sync::Cache<PlaybackId, Version>,
    pub(super) tokens: Tokens,
}

/// A playback ID that is there.
struct Known {
    workspace: WorkspaceId,
    policy: Arc<PlaybackPolicy>,
    state: State,
    /// What the database was when this was read of it.
    read_at: Version,
    /// A key that let viewers in and was found there: most have the same one, which is not to be looked for with each segment. What is remembered of keys is
    /// at most 1 s old and so is this, so that one which was deleted lets nobody in 2 s later, though no change was heard of.
    key_there: OnceLock<KeyMark>,
}

enum State {
    /// What whoever is let in is given, but for what the policy says.
    Ready(Arc<Offer>),
    Failed,
    NotReady,
}

enum Refusal {
    Policy(PlaybackRefusal),
    Failed,
    NotReady,
}

impl AccessCache {
    /// A change by this process is seen at once, by another one within 0.5 s; this bounds what a missed one could do. A
    /// rule that changed is in force within 2 s, a negative answer lives 1 s (contract decisions 13 and 44).
    const REMEMBERED_FOR: Duration = Duration::from_secs(1);
    /// About 200 bytes each, and some hundred for each track that was added. Those with many rules count for more.
    const REMEMBERED_MAX: u64 = 100_000;
    /// So many entries of rules, of 255 bytes at most, take what another playback ID takes.
    const ENTRIES_OF_ONE: usize = 4;

    pub(crate) fn new() -> Self {
        let weigh = |_: &PlaybackId, (_, known): &(u64, Arc<Known>)| {
            u32::try_from(1 + known.policy.entries() / Self::ENTRIES_OF_ONE).unwrap_or(u32::MAX)
        };
        let known = moka::sync::Cache::builder()
            .max_capacity(Self::REMEMBERED_MAX)
            .weigher(weigh)
            .time_to_live(Self::REMEMBERED_FOR)
            .build();
        let unknown = moka::sync::Cache::builder()
            .max_capacity(Self::REMEMBERED_MAX)
            .time_to_live(Self::REMEMBERED_FOR)
            .build();
        Self { known, unknown, tokens: Tokens::new() }
    }
}

/// Whether this viewer may watch now.
///
/// 404 for an unknown playback ID and for a media that failed, 401 where a token or a signed path does not hold, 403 where a rule keeps the viewer out,
/// 400 while the media is not ready (contract decisions 12, 13 and 15). A refusal writes nothing, and is counted by its reason.
pub(super) async fn grant(
    app: &App,
    playback: PlaybackId,
    viewing: &Viewing<'_>,
) -> Result<Granted, ApiError> {
    grant_that(app, playback, viewing, |_| true).await
}

/// The same, for what a media may give or not give: an old answer never says that it does not.
///
/// What comes back may still say so; then it is as new as the database.
pub(super) async fn grant_that(
    app: &App,
    playback: PlaybackId,
    viewing: &Viewing<'_>,
    gives: impl Fn(&Granted) -> bool,
) -> Result<Granted, ApiError> {
    let known = know(app, playback).await?;
    let mut answer = answer(app, &known, viewing).await?;
    let may_be_old = match &answer {
        Ok(granted) => !gives(granted),
        Err(Refusal::Policy(refusal)) => !refusal.is_of_request(),
        Err(Refusal::Failed | Refusal::NotReady) => true,
    };
    if may_be_old && known.read_at != app.store.version().await? {
        app.access.known.invalidate(&playback);
        let known = know(app, playback).await?;
        answer = self::answer(app, &known, viewing).await?;
    }
    answer.map_err(ApiError::from)
}

/// Whoever was let in, for as long as an answer to them takes.
pub(super) struct Stay {
    playback: PlaybackId,
    /// What the path of a child would say that was made when they came: as with those, they stay past the end of their token, and not past the end of its
    /// key. `None` where everybody was let in.
    path: Option<PathTicket>,
    page: Page,
    user_agent: Option<String>,
}

impl Granted {
    /// Of the viewer to whom this was granted.
    pub(super) fn stay(&self, app: &App, viewing: &Viewing<'_>) -> Stay {
        let Offer { playback, length_us, .. } = *self.offer;
        let path = self.ticket.as_ref();
        Stay {
            playback,
            path: path.map(|facts| PathTicket::new(playback, facts.clone(), length_us, app.clock.now())),
            page: viewing.page(&app.addresses),
            user_agent: viewing.user_agent().map(Cow::into_owned),
        }
    }
}

impl Stay {
    /// Whether they would be let in now, and the media `gives` it. 404 where there is no such playback ID any more.
    pub(super) async fn holds(&self, app: &App, gives: impl Fn(&Offer) -> bool) -> Result<bool, ApiError> {
        let known = know(app, self.playback).await?;
        let path = match &self.path {
            None => Err(PathRefusal::Missing),
            Some(ticket) => with_its_key(app, &known, ticket.clone()).await?,
        };
        let viewer = Viewer {
            admission: Admission::Path(path),
            page: self.page.clone(),
            frame: self.path.as_ref().and_then(|ticket| ticket.facts.frame.clone()),
            user_agent: self.user_agent.as_deref(),
        };
        let answer = decide(app, &known, &viewer, app.clock.now()).map_err(ApiError::from)?;
        Ok(gives(&answer.offer))
    }
}

/// What is behind the page that plays, and whether a viewer may come in.
pub(super) struct Entrance {
    pub(super) media: Media,
    pub(super) policy: Arc<PlaybackPolicy>,
    /// Why not. Who may watch comes in also while the media is not ready.
    pub(super) refused: Option<PlaybackRefusal>,
}

/// What this viewer finds at the page that plays; `None` where there is no such playback ID.
pub(super) async fn enter(
    app: &App,
    playback: PlaybackId,
    viewing: &Viewing<'_>,
) -> Result<Option<Entrance>, ApiError> {
    // The page is not asked for so often that it were worth to remember what was.
    let version = app.store.version().await?;
    let Some(media) = app.store.media_of_playback(playback).await? else { return Ok(None) };
    let Some(known) = Known::read(app, &media, playback, version).await? else { return Ok(None) };
    let refused = match answer(app, &known, viewing).await? {
        Err(Refusal::Policy(refusal)) => Some(refusal),
        Ok(_) | Err(Refusal::NotReady | Refusal::Failed) => None,
    };
    Ok(Some(Entrance { media, policy: known.policy, refused }))
}

/// The answer to a viewer who may come in, and not have this: it is larger than what the playback ID gives. Counted.
pub(super) fn too_large(max: Resolution) -> ApiError {
    count("resolution");
    ApiError::above_playback_resolution(max)
}

/// The answer to a viewer who may not come in, counted by its reason.
pub(super) fn refuse(refusal: PlaybackRefusal) -> ApiError {
    Refusal::Policy(refusal).into()
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Policy(refusal) => {
                count(refusal.name());
                Self::playback_refused(refusal)
            }
            Refusal::Failed => Self::playback_failed(),
            Refusal::NotReady => Self::not_ready(),
        }
    }
}

/// Counts a refusal.
pub(super) fn count(reason: &'static str) {
    metrics::counter!("kinora_playback_refused_total", "reason" => reason).increment(1);
}

/// What is known of a playback ID; 404 for an unknown one.
async fn know(app: &App, playback: PlaybackId) -> Result<Arc<Known>, ApiError> {
    // Both taken before the row is read: a commit in between makes this answer old at once, never new.
    let generation = app.store.generation();
    if let Some((at, known)) = app.access.known.get(&playback)
        && at == generation
    {
        return Ok(known);
    }
    let version = app.store.version().await?;
    if app.access.unknown.get(&playback).is_some_and(|at| at == version) {
        return Err(ApiError::playback_not_found());
    }
    let read = async {
        match app.store.media_of_playback(playback).await? {
            Some(media) => Known::read(app, &media, playback, version.clone()).await,
            None => Ok(None),
        }
    };
    // Boxed: who was let in a moment ago comes to nothing of it.
    let Some(known) = Box::pin(read).await? else {
        app.access.unknown.insert(playback, version);
        return Err(ApiError::playback_not_found());
    };
    let known = Arc::new(known);
    // What is not ready is not remembered (contract decision 44).
    if !matches!(known.state, State::NotReady) {
        app.access.known.insert(playback, (generation, Arc::clone(&known)));
    }
    Ok(known)
}

impl Known {
    /// Refuses a path that none of our clocks can have made by now.
    fn in_time(&self, admission: Admission, now: Timestamp) -> Admission {
        match (admission, &self.state) {
            (Admission::Path(Ok(ticket)), State::Ready(offer))
                if !ticket.could_be_made(offer.length_us, now) =>
            {
                Admission::Path(Err(PathRefusal::Future))
            }
            (admission, _) => admission,
        }
    }

    /// `None` where the media does not have this playback ID.
    async fn read(
        app: &App,
        media: &Media,
        playback: PlaybackId,
        read_at: Version,
    ) -> Result<Option<Self>, ApiError> {
        let Some(handle) = media.playback(playback) else { return Ok(None) };
        let policy = Arc::new(PlaybackPolicy::of(handle));
        let key = match handle.encryption {
            Encryption::None => None,
            // A playback ID without its key was deleted a moment ago.
            Encryption::Aes128 => match app.store.content_key(playback).await? {
                Some(key) => Some(key),
                None => return Ok(None),
            },
        };
        let (subtitles, sounds) = (subtitles(media), sounds(media));
        let original = media.settings.source_access.then(|| original::name_of(media));
        let state = match &media.state {
            MediaState::Ready { source, facts, .. } => State::Ready(Arc::new(Offer {
                playback,
                workspace: media.workspace,
                source: *source,
                max_resolution: media.settings.max_resolution,
                thumbnail_ms: media.thumbnail_ms,
                is_video_withdrawn: facts.does_not_decode,
                subtitles,
                sounds,
                original,
                source_resolution: facts.source_resolution,
                files: media.settings.mp4_support,
                key,
                length_us: facts.duration.as_micros(),
                asks: asks(&policy),
            })),
            MediaState::Failed { .. } => State::Failed,
            MediaState::Created | MediaState::Downloading { .. } => State::NotReady,
        };
        Ok(Some(Self { workspace: media.workspace, policy, state, read_at, key_there: OnceLock::new() }))
    }
}

/// Who may not watch need not wait: the policy comes before what there is to watch.
async fn answer(
    app: &App,
    known: &Known,
    viewing: &Viewing<'_>,
) -> Result<Result<Granted, Refusal>, ApiError> {
    let Known { policy, .. } = known;
    let user_agent = viewing.user_agent();
    let admission = admission(app, known, viewing).await?;
    // What ends between two readings of the clock would be let in and have nothing left.
    let now = app.clock.now();
    let admission = known.in_time(admission, now);
    // Where no rule asks for the page nobody is asked. On which one a player stands is signed also for a rule that may come.
    let page = if policy.asks_for_page() { viewing.page(&app.addresses) } else { Page::Unknown };
    let frame = if policy.is_restricted() { viewing.frame(&admission) } else { None };
    let viewer = Viewer { admission, page, frame, user_agent: user_agent.as_deref() };
    Ok(decide(app, known, &viewer, now))
}

fn decide(app: &App, known: &Known, viewer: &Viewer<'_>, now: Timestamp) -> Result<Granted, Refusal> {
    let allowed = known.policy.decide(viewer, now).map_err(Refusal::Policy)?;
    match &known.state {
        State::Ready(offer) => {
            let cap = allowed.resolution.unwrap_or(offer.max_resolution);
            let max_resolution = offer.max_resolution.min(cap);
            let left_s = left_s(&viewer.admission, now);
            let shared_s = left_s.and_then(|left_s| shared_s(app, offer.asks, left_s));
            let (cap, ticket) = (allowed.resolution, allowed.ticket);
            Ok(Granted { offer: Arc::clone(offer), max_resolution, cap, ticket, left_s, shared_s })
        }
        State::Failed => Err(Refusal::Failed),
        State::NotReady => Err(Refusal::NotReady),
    }
}

/// By what the rules of a playback ID decide.
pub(super) fn asks(policy: &PlaybackPolicy) -> Asks {
    Asks { page: policy.asks_for_page(), user_agent: policy.asks_for_user_agent(), coding: false }
}

/// How many whole seconds the signature of a path still holds; `None` where none let the viewer in.
fn left_s(admission: &Admission, now: Timestamp) -> Option<u32> {
    let Admission::Path(Ok(ticket)) = admission else { return None };
    let left_s = ticket.expires_at().micros_since(now) / Timestamp::SECOND;
    Some(u32::try_from(left_s.max(0)).unwrap_or(u32::MAX))
}

/// For how long caches in between may keep what lies below a path: as their operator says, and not beyond the end of its signature. Nothing that a rule
/// decides on, for they would not ask it again; nothing that a token opened, for whoever had the address would have it without.
fn shared_s(app: &App, asks: Asks, left_s: u32) -> Option<u32> {
    let most = app.shared_max_age_s.filter(|_| asks == Asks::default())?;
    Some(left_s.min(most))
}

async fn admission(app: &App, known: &Known, viewing: &Viewing<'_>) -> Result<Admission, ApiError> {
    Ok(match &viewing.pass {
        // Nobody asks for it.
        Pass::Token(_) if !known.policy.is_private() => Admission::Token(Err(TokenRefusal::Missing)),
        Pass::Token(Ok(token)) => Admission::Token(opened(app, known, token).await?),
        Pass::Token(Err(refusal)) => Admission::Token(Err(*refusal)),
        Pass::Path(None) => Admission::Path(Err(PathRefusal::Missing)),
        Pass::Path(Some(signed)) => Admission::Path(signed_path(app, known, signed).await?),
    })
}

/// The key of a token that opens this playback ID now.
async fn opened(app: &App, known: &Known, token: &str) -> Result<Result<KeyMark, TokenRefusal>, ApiError> {
    let verified = token::verify(app, known.workspace, token).await?;
    Ok(verified.and_then(|(key, claims)| {
        claims.check(known.policy.playback(), app.clock.now())?;
        Ok(key)
    }))
}

/// What a path says that we have signed, for a key that is there.
async fn signed_path(
    app: &App,
    known: &Known,
    signed: &str,
) -> Result<Result<PathTicket, PathRefusal>, ApiError> {
    let ticket = match read_path(app, known.policy.playback(), signed) {
        Ok(ticket) => ticket,
        Err(refusal) => return Ok(Err(refusal)),
    };
    with_its_key(app, known, ticket).await
}

/// What a path says, where the key that let its viewer in is there.
async fn with_its_key(
    app: &App,
    known: &Known,
    ticket: PathTicket,
) -> Result<Result<PathTicket, PathRefusal>, ApiError> {
    let Some(key) = ticket.facts.key.filter(|key| known.key_there.get() != Some(key)) else {
        return Ok(Ok(ticket));
    };
    if !token::has_key(app, known.workspace, key).await? {
        return Ok(Err(PathRefusal::KeyGone));
    }
    // The first one stays; others are looked for.
    let _ = known.key_there.set(key);
    Ok(Ok(ticket))
}

/// Costs a hash; no database is asked.
fn read_path(app: &App, playback: PlaybackId, signed: &str) -> Result<PathTicket, PathRefusal> {
    if signed.len() > PathTicket::LEN_MAX.div_ceil(3) * 4 {
        return Err(PathRefusal::Forged);
    }
    // No memory is taken for it: every segment of a private media comes this way.
    let mut bytes = [0; PathTicket::LEN_MAX];
    let len = URL_SAFE_NO_PAD.decode_slice(signed, &mut bytes).map_err(|_| PathRefusal::Forged)?;
    let (ticket, part) = PathTicket::read(playback, &bytes[..len])?;
    if app.store.has_signed_path(playback, part) { Ok(ticket) } else { Err(PathRefusal::Forged) }
}

fn subtitles(media: &Media) -> Box<[GrantedSubtitles]> {
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

fn sounds(media: &Media) -> Box<[OfferedSound]> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A grant may come from a key that was cached for as long: together the 2 s of contract decision 13.
    #[test]
    fn cached_grant_expires_within_1_s() {
        let cache = AccessCache::new();
        for ttl in [cache.known.policy().time_to_live(), cache.unknown.policy().time_to_live()] {
            assert!(ttl.is_some_and(|ttl| ttl <= Duration::from_secs(1)), "{ttl:?}");
        }
    }

    #[test]
    fn what_is_left_of_a_path_is_never_less_than_nothing() {
        let made = Timestamp::from_micros(0);
        let nobody = TicketFacts { generation: 0, key: None, frame: None };
        let ticket =
            PathTicket::new("8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f".parse().unwrap(), nobody, 0, made);
        let end = ticket.expires_at();
        let check = |from_end_us: i64, expected: u32| {
            let left = left_s(&Admission::Path(Ok(ticket.clone())), end.plus_micros(-from_end_us));
            assert_eq!(left, Some(expected), "{from_end_us}");
        };
        check(3_600_000_000, 3600);
        check(1_999_999, 1);
        check(1, 0);
        check(0, 0);
        check(-1, 0);
        check(-3_600_000_000, 0);
        for other in
            [Admission::Path(Err(PathRefusal::Expired)), Admission::Token(Err(TokenRefusal::Missing))]
        {
            assert_eq!(left_s(&other, made), None);
        }
    }
}
