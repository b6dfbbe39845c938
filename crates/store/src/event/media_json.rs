//! A media in the facts of an event.

use std::collections::BTreeMap;

use kinora_domain::{
    AccessPolicy, AddedTrack, AddedTrackState, AspectRatio, AudioEdit, ClipOf, Encryption, Failure,
    FailureCode, FrameRate, Input, LeftOutTrack, Media, MediaDuration, MediaFacts, MediaQuality,
    MediaSettings, MediaState, Mp4Support, NewTrack, NotCopied, NotCopiedReason, PlaybackIdSettings,
    Resolution, TimelineEdit, Timestamp, Track, TrackKind, Watermark,
};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::media::added_tracks::NewTrackJson;
use crate::media::{AudioEditJson, LeftOutJson, RestrictionsJson, TimelineEditJson, WatermarkJson};

#[derive(Serialize, Deserialize)]
pub(super) struct MediaJson {
    id: String,
    workspace: String,
    #[serde(flatten)]
    settings: SettingsJson,
    inputs: Vec<InputJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clip_of: Option<ClipOfJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    added: Vec<AddedTrackJson>,
    playback: Vec<PlaybackJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thumbnail_ms: Option<u64>,
    state: StateJson,
    created_at: i64,
    updated_at: i64,
    version: i64,
}

/// The settings that the client requested.
#[derive(Serialize, Deserialize)]
pub(super) struct SettingsJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    creator_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<BTreeMap<String, String>>,
    max_resolution: String,
    quality: String,
    source_access: bool,
    optimize_audio: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mp4_support: Option<String>,
    #[serde(default, rename = "sound", skip_serializing_if = "Option::is_none")]
    audio_edit: Option<AudioEditJson>,
    #[serde(default, rename = "edit", skip_serializing_if = "Option::is_none")]
    timeline_edit: Option<TimelineEditJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    watermark: Option<WatermarkJson>,
}

impl From<&MediaSettings> for SettingsJson {
    fn from(settings: &MediaSettings) -> Self {
        Self {
            title: settings.title.clone(),
            creator_id: settings.creator_id.clone(),
            metadata: settings.metadata.clone(),
            max_resolution: settings.max_resolution.as_str().to_owned(),
            quality: settings.quality.as_str().to_owned(),
            source_access: settings.source_access,
            optimize_audio: settings.optimize_audio,
            mp4_support: Some(settings.mp4_support)
                .filter(|support| !support.is_none())
                .map(|wanted| wanted.as_str().to_owned()),
            audio_edit: settings.audio_edit.as_ref().map(AudioEditJson::from),
            timeline_edit: settings.timeline_edit.as_ref().map(TimelineEditJson::from),
            watermark: settings.watermark.as_ref().map(WatermarkJson::from),
        }
    }
}

impl TryFrom<SettingsJson> for MediaSettings {
    type Error = Error;

    fn try_from(json: SettingsJson) -> Result<Self, Error> {
        Ok(Self {
            title: json.title,
            creator_id: json.creator_id,
            metadata: json.metadata,
            max_resolution: parsed(&json.max_resolution, Resolution::from_text)?,
            quality: parsed(&json.quality, MediaQuality::from_text)?,
            source_access: json.source_access,
            optimize_audio: json.optimize_audio,
            mp4_support: json
                .mp4_support
                .map(|text| parsed(&text, Mp4Support::from_text))
                .transpose()?
                .unwrap_or_default(),
            audio_edit: json.audio_edit.map(AudioEdit::from),
            timeline_edit: json.timeline_edit.map(TimelineEdit::from),
            watermark: json.watermark.map(Watermark::from),
        })
    }
}

#[derive(Serialize, Deserialize)]
struct ClipOfJson {
    media: String,
    source: String,
}

#[derive(Serialize, Deserialize)]
struct InputJson {
    id: String,
    url: String,
}

#[derive(Serialize, Deserialize)]
struct AddedTrackJson {
    id: String,
    #[serde(flatten)]
    spec: NewTrackJson,
    state: AddedTrackStateJson,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_on_base: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AddedTrackStateJson {
    Preparing { source: String },
    Available { source: String },
    Failed { code: String, message: String },
}

#[derive(Serialize, Deserialize)]
struct PlaybackJson {
    id: String,
    policy: String,
    restrictions: RestrictionsJson,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resolution: Option<String>,
    /// Absent for a playback ID without encryption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encryption: Option<String>,
    #[serde(default, skip_serializing_if = "is_first")]
    generation: u32,
    created_at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateJson {
    Created,
    Downloading { started_at: i64, source: String },
    Ready { ready_at: i64, source: String, facts: MediaFactsJson },
    Failed { failed_at: i64, code: String, message: String },
}

#[derive(Serialize, Deserialize)]
struct MediaFactsJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    duration_us: u64,
    tracks: Vec<TrackJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_resolution: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aspect_ratio: Option<[u32; 2]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rungs: Vec<String>,
    is_truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOutJson>,
    #[serde(default)]
    does_not_decode: bool,
}

#[derive(Serialize, Deserialize)]
struct TrackJson {
    id: String,
    #[serde(flatten)]
    kind: TrackKindJson,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_copied: Option<NotCopiedJson>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_encoded: bool,
}

#[derive(Serialize, Deserialize)]
struct NotCopiedJson {
    reason: String,
    detail: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TrackKindJson {
    Video {
        width: u32,
        height: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame_rate: Option<[u32; 2]>,
    },
    Audio {
        language_code: String,
        language_name: String,
    },
}

impl From<&Media> for MediaJson {
    fn from(media: &Media) -> Self {
        Self {
            id: media.id.to_string(),
            workspace: media.workspace.to_string(),
            settings: SettingsJson::from(&media.settings),
            inputs: media
                .inputs
                .iter()
                .map(|input| InputJson { id: input.id.to_string(), url: input.url.clone() })
                .collect(),
            clip_of: media.clip_of.map(|clip_of| ClipOfJson {
                media: clip_of.media.to_string(),
                source: clip_of.source.to_string(),
            }),
            original: media.original.map(|source| source.to_string()),
            added: media.added_tracks.iter().map(AddedTrackJson::from).collect(),
            playback: media.playback_ids.iter().map(PlaybackJson::from).collect(),
            thumbnail_ms: media.thumbnail_ms,
            state: StateJson::from(&media.state),
            created_at: media.created_at.as_micros(),
            updated_at: media.updated_at.as_micros(),
            version: media.version,
        }
    }
}

impl TryFrom<MediaJson> for Media {
    type Error = Error;

    fn try_from(json: MediaJson) -> Result<Self, Error> {
        let input = |json: InputJson| Ok(Input { id: id(&json.id)?, url: json.url });
        let clip_of =
            |json: ClipOfJson| Ok::<_, Error>(ClipOf { media: id(&json.media)?, source: id(&json.source)? });
        Ok(Self {
            id: id(&json.id)?,
            workspace: id(&json.workspace)?,
            settings: json.settings.try_into()?,
            inputs: json.inputs.into_iter().map(input).collect::<Result<_, Error>>()?,
            clip_of: json.clip_of.map(clip_of).transpose()?,
            original: json.original.as_deref().map(id).transpose()?,
            base_ranges: Vec::new(),
            loudness: None,
            added_tracks: json.added.into_iter().map(AddedTrack::try_from).collect::<Result<_, _>>()?,
            playback_ids: json
                .playback
                .into_iter()
                .map(PlaybackIdSettings::try_from)
                .collect::<Result<_, _>>()?,
            thumbnail_ms: json.thumbnail_ms,
            blur_hash: None,
            state: json.state.try_into()?,
            created_at: Timestamp::from_micros(json.created_at),
            updated_at: Timestamp::from_micros(json.updated_at),
            version: json.version,
        })
    }
}

impl From<&AddedTrack> for AddedTrackJson {
    fn from(track: &AddedTrack) -> Self {
        let state = match &track.state {
            AddedTrackState::Preparing { source } => {
                AddedTrackStateJson::Preparing { source: source.to_string() }
            }
            AddedTrackState::Available { source } => {
                AddedTrackStateJson::Available { source: source.to_string() }
            }
            AddedTrackState::Failed { failure } => AddedTrackStateJson::Failed {
                code: failure.code.as_str().to_owned(),
                message: failure.message.clone(),
            },
        };
        Self {
            id: track.id.to_string(),
            spec: NewTrackJson::from(&track.spec),
            state,
            is_on_base: track.is_on_base,
        }
    }
}

impl TryFrom<AddedTrackJson> for AddedTrack {
    type Error = Error;

    fn try_from(json: AddedTrackJson) -> Result<Self, Error> {
        let state = match json.state {
            AddedTrackStateJson::Preparing { source } => AddedTrackState::Preparing { source: id(&source)? },
            AddedTrackStateJson::Available { source } => AddedTrackState::Available { source: id(&source)? },
            AddedTrackStateJson::Failed { code, message } => AddedTrackState::Failed {
                failure: Failure { code: parsed(&code, FailureCode::from_text)?, message },
            },
        };
        let is_on_base = json.is_on_base;
        Ok(Self {
            id: id(&json.id)?,
            spec: NewTrack::try_from(json.spec)?,
            state,
            is_on_base,
            cut_from: None,
        })
    }
}

fn is_first(generation: &u32) -> bool {
    *generation == 0
}

impl From<&PlaybackIdSettings> for PlaybackJson {
    fn from(playback_id: &PlaybackIdSettings) -> Self {
        Self {
            id: playback_id.id.to_string(),
            policy: playback_id.policy.as_str().to_owned(),
            restrictions: (&playback_id.restrictions).into(),
            resolution: playback_id.resolution.map(|resolution| resolution.as_str().to_owned()),
            encryption: playback_id.encryption.name_if_encrypted().map(str::to_owned),
            generation: playback_id.generation,
            created_at: playback_id.created_at.as_micros(),
        }
    }
}

impl TryFrom<PlaybackJson> for PlaybackIdSettings {
    type Error = Error;

    fn try_from(json: PlaybackJson) -> Result<Self, Error> {
        Ok(Self {
            id: id(&json.id)?,
            policy: parsed(&json.policy, AccessPolicy::from_text)?,
            restrictions: json.restrictions.try_into()?,
            resolution: json.resolution.map(|text| parsed(&text, Resolution::from_text)).transpose()?,
            encryption: encryption(json.encryption.as_deref())?,
            generation: json.generation,
            created_at: Timestamp::from_micros(json.created_at),
        })
    }
}

impl From<&MediaState> for StateJson {
    fn from(state: &MediaState) -> Self {
        match state {
            MediaState::Created => Self::Created,
            MediaState::Downloading { started_at, source } => {
                Self::Downloading { started_at: started_at.as_micros(), source: source.to_string() }
            }
            MediaState::Ready { ready_at, source, facts } => Self::Ready {
                ready_at: ready_at.as_micros(),
                source: source.to_string(),
                facts: MediaFactsJson::from(facts),
            },
            MediaState::Failed { failed_at, failure } => Self::Failed {
                failed_at: failed_at.as_micros(),
                code: failure.code.as_str().to_owned(),
                message: failure.message.clone(),
            },
        }
    }
}

impl TryFrom<StateJson> for MediaState {
    type Error = Error;

    fn try_from(json: StateJson) -> Result<Self, Error> {
        Ok(match json {
            StateJson::Created => Self::Created,
            StateJson::Downloading { started_at, source } => {
                Self::Downloading { started_at: Timestamp::from_micros(started_at), source: id(&source)? }
            }
            StateJson::Ready { ready_at, source, facts } => Self::Ready {
                ready_at: Timestamp::from_micros(ready_at),
                source: id(&source)?,
                facts: facts.try_into()?,
            },
            StateJson::Failed { failed_at, code, message } => Self::Failed {
                failed_at: Timestamp::from_micros(failed_at),
                failure: Failure { code: parsed(&code, FailureCode::from_text)?, message },
            },
        })
    }
}

impl From<&MediaFacts> for MediaFactsJson {
    fn from(facts: &MediaFacts) -> Self {
        Self {
            container: facts.container.clone(),
            duration_us: facts.duration.as_micros(),
            tracks: facts.tracks.iter().map(TrackJson::from).collect(),
            source_resolution: facts.source_resolution.map(|resolution| resolution.as_str().to_owned()),
            aspect_ratio: facts.aspect_ratio.map(|ratio| [ratio.width, ratio.height]),
            rungs: facts.rungs.iter().map(|rung| rung.as_str().to_owned()).collect(),
            is_truncated: facts.is_truncated,
            left_out: facts.left_out.iter().map(LeftOutJson::from).collect(),
            does_not_decode: facts.does_not_decode,
        }
    }
}

impl TryFrom<MediaFactsJson> for MediaFacts {
    type Error = Error;

    fn try_from(json: MediaFactsJson) -> Result<Self, Error> {
        let resolution = json.source_resolution.map(|text| parsed(&text, Resolution::from_text));
        Ok(Self {
            container: json.container,
            duration: MediaDuration::from_micros(json.duration_us),
            tracks: json.tracks.into_iter().map(Track::try_from).collect::<Result<_, _>>()?,
            source_resolution: resolution.transpose()?,
            aspect_ratio: json.aspect_ratio.map(|[width, height]| AspectRatio { width, height }),
            rungs: json
                .rungs
                .iter()
                .map(|text| parsed(text, Resolution::from_text))
                .collect::<Result<_, _>>()?,
            is_truncated: json.is_truncated,
            left_out: json.left_out.into_iter().map(LeftOutTrack::from).collect(),
            does_not_decode: json.does_not_decode,
            broken_renditions: Vec::new(),
        })
    }
}

impl From<&Track> for TrackJson {
    fn from(track: &Track) -> Self {
        let kind = match &track.kind {
            TrackKind::Video { width, height, frame_rate } => TrackKindJson::Video {
                width: *width,
                height: *height,
                frame_rate: frame_rate.map(|rate| [rate.numerator, rate.denominator]),
            },
            TrackKind::Audio { language_code, language_name } => TrackKindJson::Audio {
                language_code: language_code.clone(),
                language_name: language_name.clone(),
            },
        };
        let not_copied = track
            .not_copied
            .as_ref()
            .map(|why| NotCopiedJson { reason: why.reason.as_str().to_owned(), detail: why.detail.clone() });
        Self { id: track.id.to_string(), kind, not_copied, is_encoded: track.is_encoded }
    }
}

impl TryFrom<TrackJson> for Track {
    type Error = Error;

    fn try_from(json: TrackJson) -> Result<Self, Error> {
        let kind = match json.kind {
            TrackKindJson::Video { width, height, frame_rate } => TrackKind::Video {
                width,
                height,
                frame_rate: frame_rate.map(|[numerator, denominator]| FrameRate { numerator, denominator }),
            },
            TrackKindJson::Audio { language_code, language_name } => {
                TrackKind::Audio { language_code, language_name }
            }
        };
        let not_copied = json.not_copied.map(|why| {
            let reason = parsed(&why.reason, NotCopiedReason::from_text)?;
            Ok::<_, Error>(NotCopied { reason, detail: why.detail })
        });
        Ok(Self { id: id(&json.id)?, kind, not_copied: not_copied.transpose()?, is_encoded: json.is_encoded })
    }
}

pub(super) fn unsupported_fact(what: &'static str) -> Error {
    Error::internal(format!("the facts of an event have a {what} that this version does not know"))
}

pub(super) fn id<T: std::str::FromStr>(text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| unsupported_fact("id"))
}

/// The encryption by its name; a missing name means none.
pub(super) fn encryption(name: Option<&str>) -> Result<Encryption, Error> {
    name.map_or(Ok(Encryption::None), |text| parsed(text, Encryption::from_text))
}

pub(super) fn parsed<T>(text: &str, parse: fn(&str) -> Option<T>) -> Result<T, Error> {
    parse(text).ok_or_else(|| unsupported_fact("word"))
}
