//! The bodies of events, one struct each (specification, Events; contract section 5, decisions 2 to 8, 31, 35).
//!
//! The spelling of the time field differs per type and is the specification's.

use std::collections::BTreeMap;

use kinora_domain::{
    ATTEMPTS_MAX, Attempt, AttemptOutcome, AttemptResponse, EventKind, EventSubject, Media, MediaDuration,
    MediaState, PlaybackHandle, Restriction, Track, TrackKind, WebhookId,
};
use kinora_store::StoredEvent;
use serde::Serialize;

/// MP4 files are not made yet; events say so always (contract decision 27).
const MP4_SUPPORT: &str = "none";
/// Earlier attempts that are told (contract decision 8).
const ATTEMPTS_TOLD_MAX: usize = 10;

/// The bytes that are signed and posted. The attempts made before make them differ from post to post; the id never does.
pub(super) fn body(
    event: &StoredEvent,
    attempts: &[Attempt],
    webhook: WebhookId,
    images_url: &str,
) -> Vec<u8> {
    let kind = &event.event.kind;
    let at = event.event.at.to_string();
    let (mut created_at, mut created_at_snake, mut updated_at_snake) = (None, None, None);
    let (status, data) = match kind {
        EventKind::MediaCreated(media) => {
            ("media_created", Data::Created(Box::new(CreatedData::from(&**media))))
        }
        EventKind::MediaReady(media) => ("ready", Data::Ready(Box::new(ReadyData::new(media, images_url)))),
        EventKind::MediaFailed(media) => ("failed", Data::Failed(Box::new(FailedData::from(&**media)))),
        EventKind::MediaUpdated(id) => {
            ("media_created", Data::Updated { media_id: id.to_string(), is_named_entities_enabled: false })
        }
        EventKind::MediaDeleted(_) => ("media_created", Data::Deleted { success: true }),
    };
    match kind {
        EventKind::MediaReady(media) => {
            created_at_snake = Some(at);
            updated_at_snake = Some(media.updated_at.to_string());
        }
        _ => created_at = Some(at),
    }
    let EventSubject::Media(subject) = kind.subject();
    let skipped = attempts.len().saturating_sub(ATTEMPTS_TOLD_MAX);
    let envelope = Envelope {
        r#type: kind.name(),
        object: Object { r#type: "media", id: subject.to_string() },
        id: event.id.to_string(),
        workspace: Workspace { name: &event.workspace.name, id: event.workspace.id.to_string() },
        status,
        data,
        created_at,
        created_at_snake,
        updated_at_snake,
        attempts: attempts[skipped..].iter().map(|attempt| AttemptItem::new(attempt, webhook)).collect(),
    };
    serde_json::to_vec(&envelope).expect("wire types hold strings, numbers and lists of them")
}

#[derive(Serialize)]
struct Envelope<'a> {
    r#type: &'static str,
    object: Object,
    id: String,
    workspace: Workspace<'a>,
    status: &'static str,
    data: Data,
    #[serde(rename = "createdAt", skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(rename = "created_at", skip_serializing_if = "Option::is_none")]
    created_at_snake: Option<String>,
    #[serde(rename = "updated_at", skip_serializing_if = "Option::is_none")]
    updated_at_snake: Option<String>,
    attempts: Vec<AttemptItem>,
}

#[derive(Serialize)]
struct Object {
    r#type: &'static str,
    id: String,
}

#[derive(Serialize)]
struct Workspace<'a> {
    name: &'a str,
    id: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data {
    Created(Box<CreatedData>),
    Ready(Box<ReadyData>),
    Failed(Box<FailedData>),
    #[serde(rename_all = "camelCase")]
    Updated {
        media_id: String,
        is_named_entities_enabled: bool,
    },
    Deleted {
        success: bool,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CreatedData {
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
        let inputs = media.inputs.iter();
        Self {
            id: media.id.to_string(),
            trial: false,
            status: media.state.name(),
            created_at: media.created_at.to_string(),
            updated_at: media.updated_at.to_string(),
            playback_ids: playback_ids(media),
            metadata: metadata(media),
            source_access: media.settings.source_access,
            max_resolution: media.settings.max_resolution.as_str(),
            inputs: inputs.map(|input| InputItem { r#type: "video", url: input.url.clone() }).collect(),
            subtitles: Empty {},
            optimize_audio: media.settings.optimize_audio,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadyData {
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
    fn new(media: &Media, images_url: &str) -> Self {
        let facts = match &media.state {
            MediaState::Ready { facts, .. } => Some(facts),
            _ => None,
        };
        let has_picture = facts.is_some_and(|facts| !facts.is_audio_only());
        let first = media.playback.first().filter(|_| has_picture);
        Self {
            thumbnail: first.map(|playback| format!("{images_url}/{}/thumbnail.png", playback.id)),
            id: media.id.to_string(),
            workspace_id: media.workspace.to_string(),
            metadata: metadata(media),
            max_resolution: media.settings.max_resolution.as_str(),
            source_resolution: facts.and_then(|facts| facts.source_resolution).map(|name| name.as_str()),
            playback_ids: playback_ids(media),
            tracks: facts.map(|facts| facts.tracks.iter().map(TrackItem::from).collect()).unwrap_or_default(),
            source_access: media.settings.source_access,
            mp4_support: MP4_SUPPORT,
            optimize_audio: media.settings.optimize_audio,
            duration: facts.map_or(MediaDuration::UNKNOWN, |facts| facts.duration).to_string(),
            aspect_ratio: facts.and_then(|facts| facts.aspect_ratio).map(|ratio| ratio.to_string()),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailedData {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorItem>,
}

impl From<&Media> for FailedData {
    fn from(media: &Media) -> Self {
        let error = match &media.state {
            MediaState::Failed { failure, .. } => {
                Some(ErrorItem { code: failure.code.as_str(), message: failure.message.clone() })
            }
            _ => None,
        };
        Self {
            id: media.id.to_string(),
            workspace_id: media.workspace.to_string(),
            metadata: metadata(media),
            max_resolution: media.settings.max_resolution.as_str(),
            playback_ids: playback_ids(media),
            source_access: media.settings.source_access,
            mp4_support: MP4_SUPPORT,
            optimize_audio: media.settings.optimize_audio,
            duration: MediaDuration::UNKNOWN.to_string(),
            created_at: media.created_at.to_string(),
            updated_at: media.updated_at.to_string(),
            error,
        }
    }
}

#[derive(Serialize)]
struct ErrorItem {
    code: &'static str,
    message: String,
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
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RestrictionsItem {
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

impl From<&PlaybackHandle> for PlaybackItem {
    fn from(playback: &PlaybackHandle) -> Self {
        Self {
            id: playback.id.to_string(),
            access_policy: playback.policy.as_str(),
            access_restrictions: RestrictionsItem {
                domains: (&playback.restrictions.domains).into(),
                user_agents: (&playback.restrictions.user_agents).into(),
            },
        }
    }
}

fn playback_ids(media: &Media) -> Vec<PlaybackItem> {
    media.playback.iter().map(PlaybackItem::from).collect()
}

fn metadata(media: &Media) -> BTreeMap<String, String> {
    media.settings.metadata.clone().unwrap_or_default()
}

/// A track; `frameRate` is a number here and a string in answers (contract 2.2). The specification lists the language fields for
/// every track.
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
        };
        match &track.kind {
            TrackKind::Video { width, height, frame_rate } => Self {
                width: Some(*width),
                height: Some(*height),
                // Three decimals tell 29.97 from 30; a whole number is written without any.
                frame_rate: frame_rate.map(|rate| (rate.per_second() * 1000.0).round() / 1000.0),
                ..item("video", "und", "Undetermined")
            },
            TrackKind::Audio { language_code, language_name } => item("audio", language_code, language_name),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttemptItem {
    webhook_id: String,
    id: String,
    response_status_code: u16,
    response_headers: ResponseHeaders,
    response_body: String,
    max_attempts: u32,
    created_at: String,
    address: String,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct ResponseHeaders {
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<String>,
}

impl AttemptItem {
    /// Without an answer the status is 0 and the body is the sentence that says why.
    fn new(attempt: &Attempt, webhook: WebhookId) -> Self {
        let unanswered;
        let response = match &attempt.outcome {
            AttemptOutcome::Answered(response) => response,
            AttemptOutcome::Unanswered(why) => {
                unanswered = AttemptResponse { body: why.clone(), ..AttemptResponse::default() };
                &unanswered
            }
        };
        Self {
            webhook_id: webhook.to_string(),
            id: attempt.id.to_string(),
            response_status_code: response.status,
            response_headers: ResponseHeaders {
                content_type: response.content_type.clone(),
                transfer: response.transfer.clone(),
                server: response.server.clone(),
                date: response.date.clone(),
                cache_control: response.cache_control.clone(),
            },
            response_body: response.body.clone(),
            max_attempts: ATTEMPTS_MAX,
            created_at: attempt.at.to_string(),
            address: attempt.address.clone(),
        }
    }
}
