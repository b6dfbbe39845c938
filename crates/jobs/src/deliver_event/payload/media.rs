//! The media data in event bodies: one struct for each body (C-187).

use std::collections::BTreeMap;

use kinora_domain::{
    AccessRestrictions, AddedTrack, AddedTrackState, Failure, Media, MediaDuration, MediaFacts,
    MediaSettings, MediaState, PlaybackIdSettings, Restriction, Track, TrackKind,
};
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreatedData {
    id: String,
    trial: bool,
    status: &'static str,
    created_at: String,
    updated_at: String,
    playback_ids: Vec<PlaybackItem>,
    metadata: BTreeMap<String, String>,
    source_access: bool,
    max_resolution: &'static str,
    inputs: Vec<InputItem>,
    subtitles: Empty,
    optimize_audio: bool,
}

impl From<&Media> for CreatedData {
    fn from(media: &Media) -> Self {
        let inputs = media.input_urls().into_iter();
        let inputs = inputs.map(|(r#type, url)| InputItem { r#type, url: url.to_owned() }).collect();
        Self {
            id: media.id.to_string(),
            trial: false,
            status: media.state.name(),
            created_at: media.created_at.to_string(),
            updated_at: media.updated_at.to_string(),
            playback_ids: playback_ids(media),
            metadata: metadata(&media.settings),
            source_access: media.settings.source_access,
            max_resolution: media.settings.max_resolution.as_str(),
            inputs,
            subtitles: Empty {},
            optimize_audio: media.settings.optimize_audio,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadyData {
    thumbnail: Option<String>,
    id: String,
    workspace_id: String,
    metadata: BTreeMap<String, String>,
    max_resolution: &'static str,
    source_resolution: Option<&'static str>,
    playback_ids: Vec<PlaybackItem>,
    tracks: Vec<TrackItem>,
    source_access: bool,
    mp4_support: &'static str,
    optimize_audio: bool,
    duration: String,
    aspect_ratio: Option<String>,
}

impl ReadyData {
    pub(super) fn new(media: &Media, images_url: &str) -> Self {
        let facts = match &media.state {
            MediaState::Ready { facts, .. } => Some(facts),
            _ => None,
        };
        let has_thumbnail = facts.is_some_and(MediaFacts::has_thumbnails);
        let first = media.playback_ids.first().filter(|_| has_thumbnail);
        Self {
            thumbnail: first.map(|playback| format!("{images_url}/{}/thumbnail.png", playback.id)),
            id: media.id.to_string(),
            workspace_id: media.workspace.to_string(),
            metadata: metadata(&media.settings),
            max_resolution: media.settings.max_resolution.as_str(),
            source_resolution: facts.and_then(|facts| facts.source_resolution).map(|name| name.as_str()),
            playback_ids: playback_ids(media),
            tracks: tracks(media, facts),
            source_access: media.settings.source_access,
            mp4_support: media.settings.mp4_support.as_str(),
            optimize_audio: media.settings.optimize_audio,
            duration: facts.map_or(MediaDuration::UNKNOWN, |facts| facts.duration).to_string(),
            aspect_ratio: facts.and_then(|facts| facts.aspect_ratio).map(|ratio| ratio.to_string()),
        }
    }
}

/// A media that failed: the data known when its file arrived, and the reason.
#[derive(Serialize)]
pub(super) struct FailedData {
    #[serde(flatten)]
    media: DataWithoutTracks,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorItem>,
}

impl From<&Media> for FailedData {
    fn from(media: &Media) -> Self {
        let error = match &media.state {
            MediaState::Failed { failure, .. } => Some(ErrorItem::from(failure)),
            _ => None,
        };
        Self { media: DataWithoutTracks::from(media), error }
    }
}

/// A media without known tracks: its file has just arrived, or is unusable.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DataWithoutTracks {
    id: String,
    workspace_id: String,
    metadata: BTreeMap<String, String>,
    max_resolution: &'static str,
    playback_ids: Vec<PlaybackItem>,
    source_access: bool,
    mp4_support: &'static str,
    optimize_audio: bool,
    duration: String,
    created_at: String,
    updated_at: String,
}

impl From<&Media> for DataWithoutTracks {
    fn from(media: &Media) -> Self {
        Self {
            id: media.id.to_string(),
            workspace_id: media.workspace.to_string(),
            metadata: metadata(&media.settings),
            max_resolution: media.settings.max_resolution.as_str(),
            playback_ids: playback_ids(media),
            source_access: media.settings.source_access,
            mp4_support: media.settings.mp4_support.as_str(),
            optimize_audio: media.settings.optimize_audio,
            duration: MediaDuration::UNKNOWN.to_string(),
            created_at: media.created_at.to_string(),
            updated_at: media.updated_at.to_string(),
        }
    }
}

#[derive(Serialize)]
struct ErrorItem {
    code: &'static str,
    message: String,
}

impl From<&Failure> for ErrorItem {
    fn from(failure: &Failure) -> Self {
        Self { code: failure.code.as_str(), message: failure.message.clone() }
    }
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct InputItem {
    r#type: &'static str,
    url: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlaybackItem {
    id: String,
    access_policy: &'static str,
    access_restrictions: RestrictionsItem,
    #[serde(skip_serializing_if = "Option::is_none")]
    encryption: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RestrictionsItem {
    domains: RestrictionItem,
    user_agents: RestrictionItem,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RestrictionItem {
    default_policy: &'static str,
    allow: Vec<String>,
    deny: Vec<String>,
}

impl From<&Restriction> for RestrictionItem {
    fn from(restriction: &Restriction) -> Self {
        Self {
            default_policy: restriction.default_policy.as_str(),
            allow: restriction.allow.clone(),
            deny: restriction.deny.clone(),
        }
    }
}

impl From<&AccessRestrictions> for RestrictionsItem {
    fn from(restrictions: &AccessRestrictions) -> Self {
        Self { domains: (&restrictions.domains).into(), user_agents: (&restrictions.user_agents).into() }
    }
}

impl From<&PlaybackIdSettings> for PlaybackItem {
    fn from(playback: &PlaybackIdSettings) -> Self {
        Self {
            id: playback.id.to_string(),
            access_policy: playback.policy.as_str(),
            access_restrictions: (&playback.restrictions).into(),
            encryption: playback.encryption.name_if_encrypted(),
        }
    }
}

fn playback_ids(media: &Media) -> Vec<PlaybackItem> {
    media.playback_ids.iter().map(PlaybackItem::from).collect()
}

pub(super) fn metadata(settings: &MediaSettings) -> BTreeMap<String, String> {
    settings.metadata.clone().unwrap_or_default()
}

/// A track; `frameRate` is a number here and a string in API responses (C-120). The specification lists the
/// language fields for every track.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TrackItem {
    id: String,
    r#type: &'static str,
    status: &'static str,
    language_code: String,
    language_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorItem>,
}

/// The tracks of the file, then the added tracks.
fn tracks(media: &Media, facts: Option<&MediaFacts>) -> Vec<TrackItem> {
    let file_tracks = facts.map(|facts| facts.tracks.iter()).unwrap_or_default();
    file_tracks.map(TrackItem::from).chain(media.added_tracks.iter().map(TrackItem::from)).collect()
}

impl From<&AddedTrack> for TrackItem {
    fn from(track: &AddedTrack) -> Self {
        let error = match &track.state {
            AddedTrackState::Failed { failure } => Some(ErrorItem::from(failure)),
            _ => None,
        };
        Self {
            id: track.id.to_string(),
            r#type: track.spec.kind.as_str(),
            status: track.state.name(),
            language_code: track.spec.language_code.clone(),
            language_name: track.spec.language_name.clone(),
            width: None,
            height: None,
            frame_rate: None,
            error,
        }
    }
}

impl From<&Track> for TrackItem {
    fn from(track: &Track) -> Self {
        let item = |r#type, code: &str, name: &str| Self {
            id: track.id.to_string(),
            r#type,
            status: "available",
            language_code: code.to_owned(),
            language_name: name.to_owned(),
            width: None,
            height: None,
            frame_rate: None,
            error: None,
        };
        match &track.kind {
            TrackKind::Video { width, height, frame_rate } => Self {
                width: Some(*width),
                height: Some(*height),
                // Three decimals distinguish 29.97 from 30.
                frame_rate: frame_rate.map(|rate| (rate.per_second() * 1000.0).round() / 1000.0),
                ..item("video", "und", "Undetermined")
            },
            TrackKind::Audio { language_code, language_name } => item("audio", language_code, language_name),
        }
    }
}
