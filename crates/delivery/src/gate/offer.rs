//! What a media gives through one playback ID, and on which terms.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::{
    AddedTrackKind, ContentKey, Media, MediaFacts, Mp4Support, PathTicket, PlaybackId, PlaybackPolicy,
    PresentationId, Resolution, SourceId, TicketFacts, TrackId, WorkspaceId,
};
use kinora_packager::{OfferedSound, OfferedSubtitles};
use kinora_web::error::ApiError;

use super::count;
use crate::DeliveryState;
use crate::counted::Account;
use crate::error;
use crate::send::{Asks, Caching, Terms};
use crate::viewing::Viewing;

/// What a ready media gives through one playback ID, to any viewer.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(super) playback: PlaybackId,
    /// The workspace that owns the media: traffic counts for it.
    workspace: WorkspaceId,
    /// What players are shown.
    pub(crate) presentation: PresentationId,
    /// The stored source, for those who may download it.
    pub(crate) source: SourceId,
    /// The bound of the media. A playback ID may have a lower one; downloadable files are made once, with
    /// this one.
    pub(crate) max_resolution: Resolution,
    /// The time of the thumbnail, in milliseconds, where one was chosen.
    pub(crate) thumbnail_ms: Option<u64>,
    /// The video turned out not to decode; the audio is left.
    pub(crate) is_video_withdrawn: bool,
    /// Added subtitle tracks that are available.
    pub(crate) subtitles: Box<[GrantedSubtitles]>,
    /// Added audio tracks that are available.
    pub(crate) sounds: Box<[OfferedSound]>,
    /// The file name of the source, where it may be downloaded.
    pub(crate) original: Option<String>,
    /// The resolution of the source.
    pub(crate) source_resolution: Option<Resolution>,
    /// Which MP4 and M4A files are offered beside playback.
    pub(crate) files: Mp4Support,
    /// The AES-128 key of segments; `None` where they are not encrypted.
    pub(crate) key: Option<ContentKey>,
    /// The duration, in microseconds.
    pub(crate) length_us: u64,
    /// Which request headers the rules depend on.
    asks: Asks,
}

/// An added subtitle track that is available.
#[derive(Debug, Clone)]
pub(crate) struct GrantedSubtitles {
    pub(crate) track: TrackId,
    pub(crate) offered: OfferedSubtitles,
}

/// What an admitted viewer may fetch.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) offer: Arc<Offer>,
    /// The lower bound of media and playback ID.
    pub(crate) max_resolution: Resolution,
    /// The bound of the playback ID, where it has one.
    pub(crate) cap: Option<Resolution>,
    pub(super) access: Access,
}

/// By what a viewer was admitted, as far as later addresses and caches depend on it.
#[derive(Debug)]
pub(crate) struct Access {
    /// What the signed paths of children say; `None` where all viewers share the same paths.
    pub(super) ticket: Option<TicketFacts>,
    /// How long the signature of the path is still valid, in seconds: a viewer caches it no longer. `None`
    /// without a signed path.
    pub(super) left_s: Option<u32>,
    /// How long shared caches may store what never changes below this path, in seconds.
    pub(super) shared_s: Option<u32>,
}

impl Access {
    /// Of what has no rules.
    pub(super) fn of_everybody() -> Self {
        Self { ticket: None, left_s: None, shared_s: None }
    }
}

impl Offer {
    pub(super) fn new(
        media: &Media,
        playback: PlaybackId,
        source: SourceId,
        facts: &MediaFacts,
        key: Option<ContentKey>,
        policy: &PlaybackPolicy,
    ) -> Self {
        Self {
            playback,
            workspace: media.workspace,
            presentation: PresentationId::of(source),
            source,
            max_resolution: media.settings.max_resolution,
            thumbnail_ms: media.thumbnail_ms,
            is_video_withdrawn: facts.does_not_decode,
            subtitles: subtitles(media),
            sounds: sounds(media),
            original: media.settings.source_access.then(|| name_of(media)),
            source_resolution: facts.source_resolution,
            files: media.settings.mp4_support,
            key,
            length_us: facts.duration.as_micros(),
            asks: asks(policy),
        }
    }
}

impl Granted {
    /// The cache policy of an answer, and the account it counts for. What not every viewer may have is
    /// cached by its viewer alone and not for long, unless the operator allows shared caches
    /// (C-13).
    pub(crate) fn terms(&self, app: &DeliveryState, caching: Caching) -> Terms {
        let keeping = match self.access.ticket {
            None => caching.for_everybody(),
            Some(_) => caching.for_those_who_know(self.access.left_s, self.access.shared_s),
        };
        Terms {
            keeping: keeping.asking(self.offer.asks),
            account: Some(Account::new(app, self.offer.workspace)),
        }
    }

    /// The token that admitted the viewer. `None` where no signing key of the workspace did: what was sent
    /// then was not checked, and is passed on to no address.
    pub(crate) fn token_of<'a>(&self, viewing: &'a Viewing<'_>) -> Option<&'a str> {
        let is_by_key = self.access.ticket.as_ref().is_some_and(|facts| facts.key.is_some());
        viewing.token().filter(|_| is_by_key)
    }

    /// 403 for what can only be given in clear where the playback ID encrypts. Thumbnails and subtitles are
    /// never encrypted.
    pub(crate) fn in_clear(&self) -> Result<(), ApiError> {
        if self.offer.key.is_none() {
            return Ok(());
        }
        count("encrypted");
        Err(error::playback_encrypted())
    }

    /// The folder of its children, relative to the manifest: `{playbackId}/{indexId}/`, or
    /// `{playbackId}/{signed}/{indexId}/`.
    pub(crate) fn folder(&self, app: &DeliveryState, index: impl std::fmt::Display) -> String {
        let Offer { playback, length_us, .. } = *self.offer;
        let Some(facts) = &self.access.ticket else {
            return format!("{playback}/{index}/");
        };
        let ticket = PathTicket::new(playback, facts.clone(), length_us, app.clock.now());
        format!("{playback}/{}/{index}/", URL_SAFE_NO_PAD.encode(app.store.sign_path(&ticket)))
    }
}

/// The request headers that the rules of a playback ID depend on, for `Vary`.
pub(crate) fn asks(policy: &PlaybackPolicy) -> Asks {
    Asks { page: policy.asks_for_page(), user_agent: policy.asks_for_user_agent(), coding: false }
}

/// What the original of a media is called: the last part of the address it came from, else the media's id. Of
/// a direct upload no name is known.
fn name_of(media: &Media) -> String {
    let url = media.inputs.first().and_then(|input| url::Url::parse(&input.url).ok());
    let last = url.as_ref().and_then(|url| url.path_segments()?.next_back());
    last.filter(|last| last.contains('.')).map_or_else(|| media.id.to_string(), decoded)
}

/// A part of a path without its percents.
fn decoded(part: &str) -> String {
    // Of a form, where two signs mean something else than in a path.
    let form = format!("={}", part.replace('+', "%2B").replace('&', "%26"));
    url::form_urlencoded::parse(form.as_bytes()).map(|(_, value)| value.into_owned()).collect()
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
