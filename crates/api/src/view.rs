//! The JSON views of a media in responses (C-118, C-129, C-27, C-29, C-31, C-35).

use std::collections::BTreeMap;

use kinora_domain::{
    AccessRestrictions, AddedTrack, AddedTrackState, Media, MediaDuration, MediaState, PlaybackIdSettings,
    Restriction, Track, TrackKind,
};
use kinora_web::base_urls::BaseUrls;
use kinora_web::failure::FailureView;
use kinora_web::openapi::schema;
use kinora_web::playback_report::PlaybackReportView;
use schemars::JsonSchema;
use serde::Serialize;

use super::loudness::LoudnessView;

/// The response of `POST /on-demand`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreatedMedia {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::Never")]
    trial: bool,
    #[schemars(with = "schema::MediaStatus")]
    status: &'static str,
    #[schemars(with = "schema::Instant")]
    created_at: String,
    #[schemars(with = "schema::Instant")]
    updated_at: String,
    playback_ids: Vec<PlaybackView>,
    #[schemars(with = "schema::Metadata")]
    metadata: BTreeMap<String, String>,
    #[schemars(with = "schema::Quality")]
    media_quality: &'static str,
    source_access: bool,
    #[schemars(with = "schema::Cap")]
    max_resolution: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Id")]
    source_media_id: Option<String>,
    inputs: Vec<InputView>,
    optimize_audio: bool,
}

impl From<&Media> for CreatedMedia {
    fn from(media: &Media) -> Self {
        Self {
            id: media.id.to_string(),
            trial: false,
            status: media.state.name(),
            created_at: media.created_at.to_string(),
            updated_at: media.updated_at.to_string(),
            playback_ids: media.playback_ids.iter().map(PlaybackView::from).collect(),
            metadata: media.settings.metadata.clone().unwrap_or_default(),
            media_quality: media.settings.quality.as_str(),
            source_access: media.settings.source_access,
            max_resolution: media.settings.max_resolution.as_str(),
            source_media_id: source_media_id(media),
            inputs: media.input_urls().into_iter().map(InputView::from).collect(),
            optimize_audio: media.settings.optimize_audio,
        }
    }
}

/// A media, as read and listed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Media")]
pub(crate) struct MediaView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "Option<schema::Address>")]
    thumbnail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Seconds")]
    thumbnail_time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::BlurHash")]
    blur_hash: Option<String>,
    #[schemars(with = "schema::Id")]
    workspace_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Id")]
    source_media_id: Option<String>,
    #[schemars(with = "schema::Metadata")]
    metadata: BTreeMap<String, String>,
    #[schemars(with = "Option<schema::Text>")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Text")]
    creator_id: Option<String>,
    #[schemars(with = "schema::Quality")]
    media_quality: &'static str,
    #[schemars(with = "schema::Cap")]
    max_resolution: &'static str,
    #[schemars(with = "Option<schema::Size>")]
    source_resolution: Option<&'static str>,
    #[schemars(with = "schema::MediaStatus")]
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Files")]
    mp4_support: Option<&'static str>,
    source_access: bool,
    playback_ids: Vec<PlaybackView>,
    tracks: Vec<TrackView>,
    #[schemars(with = "schema::Nothing")]
    generated_subtitles: [(); 0],
    is_audio_only: bool,
    subtitle_available: bool,
    #[schemars(with = "schema::Duration")]
    duration: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::FrameRate")]
    frame_rate: Option<String>,
    #[schemars(with = "Option<schema::AspectRatio>")]
    aspect_ratio: Option<String>,
    #[schemars(with = "schema::Instant")]
    created_at: String,
    #[schemars(with = "schema::Instant")]
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "FailureView")]
    error: Option<FailureView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LoudnessView")]
    loudness: Option<LoudnessView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PlaybackReportView")]
    playback_report: Option<PlaybackReportView>,
}

impl MediaView {
    pub(crate) fn new(media: &Media, base_urls: &BaseUrls) -> Self {
        let facts = match &media.state {
            MediaState::Ready { facts, .. } => Some(facts),
            _ => None,
        };
        let error = match &media.state {
            MediaState::Failed { failure, .. } => Some(FailureView::from(failure)),
            _ => None,
        };
        Self {
            id: media.id.to_string(),
            thumbnail: thumbnail_url(media, base_urls),
            thumbnail_time: media.thumbnail_ms.map(seconds),
            blur_hash: media.blur_hash.clone(),
            workspace_id: media.workspace.to_string(),
            source_media_id: source_media_id(media),
            metadata: media.settings.metadata.clone().unwrap_or_default(),
            title: media.settings.title.clone(),
            creator_id: media.settings.creator_id.clone(),
            media_quality: media.settings.quality.as_str(),
            max_resolution: media.settings.max_resolution.as_str(),
            source_resolution: facts.and_then(|facts| facts.source_resolution).map(|name| name.as_str()),
            status: media.state.name(),
            // Left out while it is off (C-27).
            mp4_support: Some(media.settings.mp4_support)
                .filter(|support| !support.is_none())
                .map(|wanted| wanted.as_str()),
            source_access: media.settings.source_access,
            playback_ids: media.playback_ids.iter().map(PlaybackView::from).collect(),
            tracks: tracks(media),
            generated_subtitles: [],
            is_audio_only: facts.is_some_and(|facts| facts.is_audio_only()),
            subtitle_available: media.has_subtitles(),
            duration: duration(media),
            frame_rate: facts.and_then(|facts| facts.frame_rate()).map(|rate| rate.to_string()),
            aspect_ratio: facts.and_then(|facts| facts.aspect_ratio).map(|ratio| ratio.to_string()),
            created_at: media.created_at.to_string(),
            updated_at: media.updated_at.to_string(),
            error,
            loudness: LoudnessView::of(media),
            playback_report: PlaybackReportView::of(media),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is at most a million seconds")]
fn seconds(time_ms: u64) -> f64 {
    time_ms as f64 / 1000.0
}

/// The address of the thumbnail of a media. It exists once the media plays, but not for audio alone (C-35),
/// nor for video that does not decode.
pub(crate) fn thumbnail_url(media: &Media, base_urls: &BaseUrls) -> Option<String> {
    let MediaState::Ready { facts, .. } = &media.state else { return None };
    let playback = media.playback_ids.first().filter(|_| facts.has_thumbnails())?;
    Some(format!("{}/{}/thumbnail.png", base_urls.images, playback.id))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Input")]
struct InputView {
    #[schemars(with = "schema::InputKind")]
    r#type: &'static str,
    url: String,
}

impl From<(&'static str, &str)> for InputView {
    fn from((r#type, url): (&'static str, &str)) -> Self {
        Self { r#type, url: url.to_owned() }
    }
}

/// The media that a clip was cut from.
fn source_media_id(media: &Media) -> Option<String> {
    media.clip_of.map(|clip_of| clip_of.media.to_string())
}

/// A clip in the list of its media (C-136).
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MediaClip")]
pub(crate) struct ClipView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::Duration")]
    duration: String,
    #[schemars(with = "schema::MediaStatus")]
    status: &'static str,
    #[schemars(with = "Option<schema::Address>")]
    thumbnail: Option<String>,
    #[schemars(with = "schema::Instant")]
    created_at: String,
    playback_ids: Vec<ClipPlaybackView>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ClipPlaybackId")]
struct ClipPlaybackView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::Policy")]
    access_policy: &'static str,
}

impl ClipView {
    pub(crate) fn new(media: &Media, base_urls: &BaseUrls) -> Self {
        let playback_id = |playback: &PlaybackIdSettings| ClipPlaybackView {
            id: playback.id.to_string(),
            access_policy: playback.policy.as_str(),
        };
        Self {
            id: media.id.to_string(),
            duration: duration(media),
            status: media.state.name(),
            thumbnail: thumbnail_url(media, base_urls),
            created_at: media.created_at.to_string(),
            playback_ids: media.playback_ids.iter().map(playback_id).collect(),
        }
    }
}

fn duration(media: &Media) -> String {
    match &media.state {
        MediaState::Ready { facts, .. } => facts.duration,
        _ => MediaDuration::UNKNOWN,
    }
    .to_string()
}

/// A playback ID of a media.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MediaPlaybackId")]
pub(crate) struct PlaybackView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::Policy")]
    access_policy: &'static str,
    access_restrictions: RestrictionsView,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Encrypted")]
    encryption: Option<&'static str>,
}

impl From<&PlaybackIdSettings> for PlaybackView {
    fn from(playback: &PlaybackIdSettings) -> Self {
        Self {
            id: playback.id.to_string(),
            access_policy: playback.policy.as_str(),
            access_restrictions: RestrictionsView::from(&playback.restrictions),
            encryption: playback.encryption.name_if_encrypted(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AccessRestrictions")]
pub(crate) struct RestrictionsView {
    domains: RestrictionView,
    user_agents: RestrictionView,
}

impl From<&AccessRestrictions> for RestrictionsView {
    fn from(restrictions: &AccessRestrictions) -> Self {
        Self { domains: (&restrictions.domains).into(), user_agents: (&restrictions.user_agents).into() }
    }
}

/// A rule of a playback ID, also the response when it is replaced.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AccessRule")]
pub(crate) struct RestrictionView {
    #[schemars(with = "schema::RuleDefault")]
    default_policy: &'static str,
    allow: Vec<String>,
    deny: Vec<String>,
}

impl From<&Restriction> for RestrictionView {
    fn from(restriction: &Restriction) -> Self {
        Self {
            default_policy: restriction.default_policy.as_str(),
            allow: restriction.allow.clone(),
            deny: restriction.deny.clone(),
        }
    }
}

/// A track; `frameRate` is a string here and a number in events (C-120).
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Track")]
pub(crate) struct TrackView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::Kind")]
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::FrameRate")]
    frame_rate: Option<String>,
    #[schemars(with = "schema::TrackStatus")]
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    language_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    language_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "FailureView")]
    error: Option<FailureView>,
}

/// The tracks of the file, then the added tracks.
fn tracks(media: &Media) -> Vec<TrackView> {
    let source_tracks: &[Track] = match &media.state {
        MediaState::Ready { facts, .. } => &facts.tracks,
        _ => &[],
    };
    source_tracks.iter().map(TrackView::from).chain(media.added_tracks.iter().map(TrackView::from)).collect()
}

impl From<&AddedTrack> for TrackView {
    fn from(track: &AddedTrack) -> Self {
        let error = match &track.state {
            AddedTrackState::Failed { failure } => Some(FailureView::from(failure)),
            _ => None,
        };
        Self {
            id: track.id.to_string(),
            r#type: track.spec.kind.as_str(),
            width: None,
            height: None,
            frame_rate: None,
            status: track.state.name(),
            language_code: Some(track.spec.language_code.clone()),
            language_name: Some(track.spec.language_name.clone()),
            error,
        }
    }
}

impl From<&Track> for TrackView {
    fn from(track: &Track) -> Self {
        let id = track.id.to_string();
        match &track.kind {
            TrackKind::Video { width, height, frame_rate } => Self {
                id,
                r#type: "video",
                width: Some(*width),
                height: Some(*height),
                frame_rate: Some(frame_rate.map_or_else(|| "-1".to_owned(), |rate| rate.to_string())),
                status: "available",
                language_code: None,
                language_name: None,
                error: None,
            },
            TrackKind::Audio { language_code, language_name } => Self {
                id,
                r#type: "audio",
                width: None,
                height: None,
                frame_rate: None,
                status: "available",
                language_code: Some(language_code.clone()),
                language_name: Some(language_name.clone()),
                error: None,
            },
        }
    }
}
