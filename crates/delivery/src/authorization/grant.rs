//! The content that a media offers through one playback ID, and its cache policy.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::{
    AccessProof, AddedTrackKind, AudioGain, ContentKey, Media, MediaFacts, Mp4Support, PathBinding,
    PathClaims, PlaybackId, PlaybackPolicy, PresentationId, Resolution, SourceId, TrackId, WorkspaceId,
};
use kinora_packager::{AddedAudioSource, AddedSubtitlesSource};
use kinora_web::error::ApiError;

use super::count_rejection;
use crate::DeliveryState;
use crate::error;
use crate::metered_body::UsageMeter;
use crate::playback_request::PlaybackRequest;
use crate::response::{CacheLifetime, ResponsePolicy, VaryOn};

/// The content that a ready media offers through one playback ID, the same for every viewer.
#[derive(Debug)]
pub(crate) struct PlayableMedia {
    pub(super) playback: PlaybackId,
    /// The workspace that owns the media: traffic counts for it.
    workspace: WorkspaceId,
    /// The presentation that is delivered to players.
    pub(crate) presentation: PresentationId,
    /// The source with the original bytes, for viewers who may download them.
    pub(crate) original: SourceId,
    /// The bound of the media. A playback ID may have a lower one; downloadable files are made once, with
    /// this one.
    pub(crate) max_resolution: Resolution,
    /// The time of the thumbnail, in milliseconds, where one was chosen.
    pub(crate) thumbnail_ms: Option<u64>,
    /// The video was found not to decode; only the audio is delivered.
    pub(crate) is_video_withdrawn: bool,
    /// Added subtitle tracks that are available.
    pub(crate) subtitles: Box<[AvailableSubtitles]>,
    /// The gain of each audio track of the presentation that is in force; empty without levelled audio.
    pub(crate) gains: Box<[Option<AudioGain>]>,
    /// The measured gain of each audio track, also while it is switched off: players that run keep it.
    pub(crate) measured_gains: Box<[Option<AudioGain>]>,
    /// Added audio tracks that are available.
    pub(crate) audio_tracks: Box<[AddedAudioSource]>,
    /// The file name of the source, where it may be downloaded.
    pub(crate) source_name: Option<String>,
    /// The resolution of the source.
    pub(crate) source_resolution: Option<Resolution>,
    /// Which MP4 and M4A files are offered in addition to playback.
    pub(crate) mp4_support: Mp4Support,
    /// The AES-128 key of segments; `None` where they are not encrypted.
    pub(crate) key: Option<ContentKey>,
    /// The duration, in microseconds.
    pub(crate) duration_us: u64,
    /// Which request headers the rules depend on.
    vary_on: VaryOn,
}

/// An added subtitle track that is available.
#[derive(Debug, Clone)]
pub(crate) struct AvailableSubtitles {
    pub(crate) track: TrackId,
    pub(crate) offered: AddedSubtitlesSource,
}

/// The content that an admitted viewer may fetch.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) media: Arc<PlayableMedia>,
    /// The lower bound of media and playback ID.
    pub(crate) max_resolution: Resolution,
    /// The bound of the playback ID, where it has one.
    pub(crate) playback_max_resolution: Option<Resolution>,
    pub(super) scope: GrantScope,
}

/// How a viewer was admitted, as far as later addresses and caches depend on it.
#[derive(Debug)]
pub(crate) struct GrantScope {
    /// The content of the signed paths of children; `None` where all viewers share the same paths.
    pub(super) binding: Option<PathBinding>,
    /// How long the signature of the path or of the pass is still valid, in seconds: a viewer caches the
    /// content no longer. `None` without either.
    pub(super) expires_in_s: Option<u32>,
    /// How long shared caches may store immutable content below this path, in seconds.
    pub(super) s_maxage_s: Option<u32>,
}

impl GrantScope {
    /// The access to content without rules.
    pub(super) fn public() -> Self {
        Self { binding: None, expires_in_s: None, s_maxage_s: None }
    }
}

impl PlayableMedia {
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
            original: media.original.unwrap_or(source),
            max_resolution: media.settings.max_resolution,
            thumbnail_ms: media.thumbnail_ms,
            is_video_withdrawn: facts.does_not_decode,
            subtitles: subtitles(media),
            gains: media.gains().into(),
            measured_gains: media.measured_gains().into(),
            audio_tracks: audio_tracks(media),
            source_name: media.settings.source_access.then(|| source_file_name(media)),
            source_resolution: facts.source_resolution,
            mp4_support: media.settings.mp4_support,
            key,
            duration_us: facts.duration.as_micros(),
            vary_on: vary_on(policy),
        }
    }
}

impl Granted {
    /// The cache policy of a response, and the account it counts for.
    ///
    /// Content that not every viewer may have is cached by its viewer alone and briefly, unless the operator
    /// allows shared caches (C-13).
    pub(crate) fn response_policy(&self, app: &DeliveryState, lifetime: CacheLifetime) -> ResponsePolicy {
        let cache_policy = match self.scope.binding {
            None => lifetime.public(),
            Some(_) => lifetime.for_signed_path(self.scope.expires_in_s, self.scope.s_maxage_s),
        };
        ResponsePolicy {
            cache_policy: cache_policy.vary_on(self.media.vary_on),
            meter: Some(UsageMeter::new(app, self.media.workspace)),
        }
    }

    /// The token or pass that admitted the viewer.
    ///
    /// `None` where neither a signing key of the workspace nor a pass admitted the viewer: a token that was
    /// sent then was not verified, and is passed on to no address.
    pub(crate) fn token_of<'a>(&self, playback_request: &'a PlaybackRequest<'_>) -> Option<&'a str> {
        let is_verified =
            self.scope.binding.as_ref().is_some_and(|binding| binding.proof != AccessProof::None);
        playback_request.token().filter(|_| is_verified)
    }

    /// 403 for content that exists only unencrypted, where the playback ID encrypts. Thumbnails and
    /// subtitles are never encrypted.
    pub(crate) fn require_unencrypted(&self) -> Result<(), ApiError> {
        if self.media.key.is_none() {
            return Ok(());
        }
        count_rejection("encrypted");
        Err(error::playback_encrypted())
    }

    /// The folder of its children, relative to the manifest: `{playbackId}/{indexId}/`, or
    /// `{playbackId}/{signed}/{indexId}/`.
    pub(crate) fn folder(&self, app: &DeliveryState, index: impl std::fmt::Display) -> String {
        let PlayableMedia { playback, duration_us, .. } = *self.media;
        let Some(binding) = &self.scope.binding else {
            return format!("{playback}/{index}/");
        };
        let claims = PathClaims::new(playback, binding.clone(), duration_us, app.clock.now());
        format!("{playback}/{}/{index}/", URL_SAFE_NO_PAD.encode(app.store.sign_path(&claims)))
    }
}

/// The request headers that the rules of a playback ID depend on, for `Vary`.
pub(crate) fn vary_on(policy: &PlaybackPolicy) -> VaryOn {
    VaryOn {
        page: policy.varies_on_page(),
        user_agent: policy.varies_on_user_agent(),
        accept_encoding: false,
    }
}

/// The file name of the original: the last part of its source address, else the media's id. The file name of
/// a direct upload is not known.
fn source_file_name(media: &Media) -> String {
    let url = media.inputs.first().and_then(|input| url::Url::parse(&input.url).ok());
    let last = url.as_ref().and_then(|url| url.path_segments()?.next_back());
    last.filter(|last| last.contains('.')).map_or_else(|| media.id.to_string(), percent_decoded)
}

/// A part of a path, percent-decoded.
fn percent_decoded(part: &str) -> String {
    // Decoded as a form, where `+` and `&` have another meaning than in a path.
    let form = format!("={}", part.replace('+', "%2B").replace('&', "%26"));
    url::form_urlencoded::parse(form.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

fn subtitles(media: &Media) -> Box<[AvailableSubtitles]> {
    let tracks = media.added_tracks.iter().filter(|track| track.spec.kind == AddedTrackKind::Subtitle);
    let granted = tracks.filter_map(|track| {
        let offered = AddedSubtitlesSource {
            source: track.available()?,
            language_code: track.spec.language_code.clone(),
            language_name: track.spec.language_name.clone(),
        };
        Some(AvailableSubtitles { track: track.id, offered })
    });
    granted.collect()
}

fn audio_tracks(media: &Media) -> Box<[AddedAudioSource]> {
    let tracks = media.added_tracks.iter().filter(|track| track.spec.kind == AddedTrackKind::Audio);
    let offered = tracks.filter_map(|track| {
        Some(AddedAudioSource {
            source: track.available()?,
            language_code: track.spec.language_code.clone(),
            language_name: track.spec.language_name.clone(),
        })
    });
    offered.collect()
}
