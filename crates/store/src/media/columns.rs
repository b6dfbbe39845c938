//! The columns of a media and its parts: encodes and decodes them.

use kinora_domain::{
    AccessPolicy, AspectRatio, ClipOf, Encryption, Failure, FailureCode, FrameRate, Input, Media,
    MediaDuration, MediaFacts, MediaQuality, MediaSettings, MediaState, Mp4Support, NotCopied,
    NotCopiedReason, PlaybackIdSettings, Resolution, Track, TrackKind,
};

use super::RestrictionsJson;
use super::audio_edit::AudioEditJson;
use super::filter::folded_title;
use super::left_out::LeftOutJson;
use super::loudness::LoudnessJson;
use super::timeline_edit::{BaseRangesJson, TimelineEditJson};
use super::watermark::WatermarkJson;
use crate::Error;
use crate::sql::{Row, Value, values};

/// The columns that a save may change, in the order of the statements: title to loudness.
pub(super) fn updated_values(media: &Media) -> Vec<Value> {
    let mut values = settings_values(&media.settings);
    values.extend(state_values(&media.state));
    values.extend(values![media.updated_at, media.settings.title.as_deref().map(folded_title)]);
    // Saturates: no media is longer than `i64` milliseconds.
    values.extend(values![media.thumbnail_ms.map(|time_ms| i64::try_from(time_ms).unwrap_or(i64::MAX))]);
    let left_out = match &media.state {
        MediaState::Ready { facts, .. } => LeftOutJson::text(&facts.left_out),
        _ => None,
    };
    values.extend(values![left_out, media.original, BaseRangesJson::text(&media.base_ranges)]);
    values.extend(values![LoudnessJson::text(media.loudness.as_ref())]);
    values
}

/// The columns that only an insert writes, in the order of its statement: from the edit of
/// the audio to clip_of_source_id.
pub(super) fn inserted_values(media: &Media) -> Vec<Value> {
    values![
        AudioEditJson::text(media.settings.audio_edit.as_ref()),
        TimelineEditJson::text(media.settings.timeline_edit.as_ref()),
        WatermarkJson::text(media.settings.watermark.as_ref()),
        media.clip_of.map(|clip_of| clip_of.media),
        media.clip_of.map(|clip_of| clip_of.source),
    ]
}

/// From title to mp4_support.
pub(crate) fn settings_values(settings: &MediaSettings) -> Vec<Value> {
    let metadata = settings.metadata.as_ref();
    let metadata = metadata.map(|map| serde_json::to_string(map).expect("a map of texts is always JSON"));
    values![
        settings.title.as_deref(),
        settings.creator_id.as_deref(),
        metadata,
        settings.max_resolution.as_str(),
        settings.quality.as_str(),
        settings.source_access,
        settings.optimize_audio,
        settings.mp4_support.as_str(),
    ]
}

pub(crate) fn read_settings(row: &Row) -> Result<MediaSettings, Error> {
    let metadata = row.text_or_none("metadata")?;
    Ok(MediaSettings {
        title: row.text_or_none("title")?,
        creator_id: row.text_or_none("creator_id")?,
        metadata: metadata.map(|text| serde_json::from_str(&text)).transpose().map_err(Error::internal)?,
        max_resolution: row.parsed("max_resolution", Resolution::from_text)?,
        quality: row.parsed("quality", MediaQuality::from_text)?,
        source_access: row.flag("source_access")?,
        optimize_audio: row.flag("optimize_audio")?,
        mp4_support: row.parsed("mp4_support", Mp4Support::from_text)?,
        audio_edit: AudioEditJson::read(row.text_or_none("sound_edit")?)?,
        timeline_edit: TimelineEditJson::read(row.text_or_none("edit")?)?,
        watermark: WatermarkJson::read(row.text_or_none("watermark")?)?,
    })
}

/// From state to rungs.
fn state_values(state: &MediaState) -> Vec<Value> {
    let (at, failure, facts) = match state {
        MediaState::Created => (None, None, None),
        MediaState::Downloading { started_at, .. } => (Some(*started_at), None, None),
        MediaState::Ready { ready_at, facts, .. } => (Some(*ready_at), None, Some(facts)),
        MediaState::Failed { failed_at, failure } => (Some(*failed_at), Some(failure), None),
    };
    let source = match state {
        MediaState::Downloading { source, .. } | MediaState::Ready { source, .. } => Some(*source),
        MediaState::Created | MediaState::Failed { .. } => None,
    };
    let aspect = facts.and_then(|facts| facts.aspect_ratio);
    values![
        state.name(),
        at,
        source,
        failure.map(|failure| failure.code.as_str()),
        failure.map(|failure| failure.message.as_str()),
        // Saturates: no media is longer than `i64` microseconds.
        facts.map(|facts| i64::try_from(facts.duration.as_micros()).unwrap_or(i64::MAX)),
        facts.and_then(|facts| facts.source_resolution).map(Resolution::as_str),
        aspect.map(|aspect| aspect.width),
        aspect.map(|aspect| aspect.height),
        facts.map(|facts| i64::from(facts.is_truncated)),
        facts.map(|facts| i64::from(facts.does_not_decode)),
        facts.and_then(|facts| facts.container.as_deref()),
        facts.map(|facts| rungs_text(&facts.rungs)),
    ]
}

/// The names in one text, `720p 480p`: no statement searches for one.
fn rungs_text(rungs: &[Resolution]) -> String {
    rungs.iter().map(|rung| rung.as_str()).collect::<Vec<_>>().join(" ")
}

/// Empty for media that were created before rungs existed.
fn read_rungs(row: &Row) -> Result<Vec<Resolution>, Error> {
    let text = row.text_or_none("rungs")?.unwrap_or_default();
    text.split_ascii_whitespace()
        .map(|name| Resolution::from_text(name).ok_or_else(|| Row::invalid_column("rungs")))
        .collect()
}

/// From kind to is_encoded.
pub(super) fn track_values(track: &Track) -> Vec<Value> {
    let mut values = track_kind_values(&track.kind);
    let why = track.not_copied.as_ref();
    values.extend(values![
        why.map(|why| why.reason.as_str()),
        why.map(|why| why.detail.as_str()),
        i64::from(track.is_encoded)
    ]);
    values
}

fn track_kind_values(kind: &TrackKind) -> Vec<Value> {
    match kind {
        TrackKind::Video { width, height, frame_rate } => values![
            "video",
            *width,
            *height,
            frame_rate.map(|rate| rate.numerator),
            frame_rate.map(|rate| rate.denominator),
            None::<&str>,
            None::<&str>,
        ],
        TrackKind::Audio { language_code, language_name } => values![
            "audio",
            None::<u32>,
            None::<u32>,
            None::<u32>,
            None::<u32>,
            language_code.as_str(),
            language_name.as_str(),
        ],
    }
}

/// Reads a media without its inputs, tracks and playback IDs.
pub(super) fn read_media(row: &Row) -> Result<Media, Error> {
    let (state, thumbnail_ms) = (read_state(row)?, row.number_or_none("thumbnail_ms")?);
    Ok(Media {
        id: row.id("id")?,
        workspace: row.id("workspace_id")?,
        settings: read_settings(row)?,
        inputs: Vec::new(),
        clip_of: read_clip_of(row)?,
        original: row.id_or_none("original_id")?,
        base_ranges: BaseRangesJson::read(row.text_or_none("base_ranges")?)?,
        loudness: LoudnessJson::read(row.text_or_none("loudness")?)?,
        added_tracks: Vec::new(),
        playback_ids: Vec::new(),
        thumbnail_ms,
        blur_hash: read_blur_hash(row, &state, thumbnail_ms)?,
        state,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        version: row.int("version")?,
    })
}

fn read_clip_of(row: &Row) -> Result<Option<ClipOf>, Error> {
    let media = row.id_or_none("clip_of_id")?;
    media.map(|media| Ok(ClipOf { media, source: row.id("clip_of_source_id")? })).transpose()
}

/// The BlurHash, if it belongs to the present thumbnail of the media.
fn read_blur_hash(row: &Row, state: &MediaState, thumbnail_ms: Option<u64>) -> Result<Option<String>, Error> {
    let Some(hash) = row.text_or_none("blur_hash")? else { return Ok(None) };
    let (hash_source, hash_time) = (row.id("blur_hash_source_id")?, row.number_or_none("blur_hash_ms")?);
    let is_current = matches!(state, MediaState::Ready { source, .. } if *source == hash_source);
    Ok(Some(hash).filter(|_| is_current && hash_time == thumbnail_ms))
}

fn read_state(row: &Row) -> Result<MediaState, Error> {
    Ok(match row.text("state")?.as_str() {
        "Created" => MediaState::Created,
        "Downloading" => {
            MediaState::Downloading { started_at: row.time("state_at")?, source: row.id("source_id")? }
        }
        "Ready" => MediaState::Ready {
            ready_at: row.time("state_at")?,
            source: row.id("source_id")?,
            facts: MediaFacts {
                container: row.text_or_none("container")?,
                duration: MediaDuration::from_micros(row.number("duration_us")?),
                tracks: Vec::new(),
                source_resolution: row.parsed_or_none("source_resolution", Resolution::from_text)?,
                aspect_ratio: match (
                    row.number_or_none("aspect_width")?,
                    row.number_or_none("aspect_height")?,
                ) {
                    (Some(width), Some(height)) => Some(AspectRatio { width, height }),
                    _ => None,
                },
                rungs: read_rungs(row)?,
                is_truncated: row.flag("is_truncated")?,
                left_out: LeftOutJson::read(row.text_or_none("left_out")?)?,
                does_not_decode: row.flag("does_not_decode")?,
                broken_renditions: Vec::new(),
            },
        },
        "Failed" => MediaState::Failed {
            failed_at: row.time("state_at")?,
            failure: Failure {
                code: row.parsed("failure_code", FailureCode::from_text)?,
                message: row.text("failure_message")?,
            },
        },
        _ => return Err(Row::invalid_column("state")),
    })
}

pub(super) fn read_input(row: &Row) -> Result<Input, Error> {
    Ok(Input { id: row.id("id")?, url: row.text("url")? })
}

pub(super) fn read_playback(row: &Row) -> Result<PlaybackIdSettings, Error> {
    Ok(PlaybackIdSettings {
        id: row.id("id")?,
        policy: row.parsed("policy", AccessPolicy::from_text)?,
        restrictions: row.json::<RestrictionsJson>("restrictions")?.try_into()?,
        resolution: row.parsed_or_none("resolution", Resolution::from_text)?,
        encryption: row.parsed("encryption", Encryption::from_text)?,
        generation: row.number("generation")?,
        created_at: row.time("created_at")?,
    })
}

pub(super) fn read_track(row: &Row) -> Result<Track, Error> {
    let kind = match row.text("kind")?.as_str() {
        "video" => TrackKind::Video {
            width: row.number("width")?,
            height: row.number("height")?,
            frame_rate: match (
                row.number_or_none("frame_rate_numerator")?,
                row.number_or_none("frame_rate_denominator")?,
            ) {
                (Some(numerator), Some(denominator)) => Some(FrameRate { numerator, denominator }),
                _ => None,
            },
        },
        "audio" => TrackKind::Audio {
            language_code: row.text("language_code")?,
            language_name: row.text("language_name")?,
        },
        _ => return Err(Row::invalid_column("kind")),
    };
    let not_copied = match row.parsed_or_none("not_copied_reason", NotCopiedReason::from_text)? {
        Some(reason) => Some(NotCopied { reason, detail: row.text("not_copied_detail")? }),
        None => None,
    };
    Ok(Track { id: row.id("id")?, kind, not_copied, is_encoded: row.flag("is_encoded")? })
}

/// The name of a rendition that cannot be encoded.
pub(super) fn read_broken(row: &Row) -> Result<String, Error> {
    row.text("name")
}
