//! The playback report of a media, as its owner reads it (docs/playback-report.md).

use kinora_domain::{AudioLevels, LeftOutTrack, Media, NotCopiedTrack, OfferedRendition, PlaybackReport};
use schemars::JsonSchema;
use serde::Serialize;

use crate::openapi::schema;

/// `playbackReport` of a ready media, in the API and on the command line.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlaybackReport")]
pub struct PlaybackReportView {
    /// `truncated` if only a playable prefix of the source was stored (C-31).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("const" = "truncated"))]
    source: Option<&'static str>,
    /// `does_not_decode` if the copy did not decode and was withdrawn (D-0017).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("const" = "does_not_decode"))]
    copy: Option<&'static str>,
    /// State of the levelled audio; absent while `optimizeAudio` is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::AudioLevels")]
    optimize_audio: Option<&'static str>,
    /// Names of encoded renditions whose encoding failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken: Vec<String>,
    renditions: Vec<RenditionView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_copied: Vec<NotCopiedView>,
    /// Tracks of the source that cannot be played at all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOutView>,
}

impl PlaybackReportView {
    /// The report of a media; `None` unless it is ready.
    pub fn of(media: &Media) -> Option<Self> {
        media.playback_report().map(|report| Self::from(&report))
    }
}

impl From<&PlaybackReport> for PlaybackReportView {
    fn from(report: &PlaybackReport) -> Self {
        Self {
            source: report.is_truncated.then_some("truncated"),
            copy: report.does_not_decode.then_some("does_not_decode"),
            optimize_audio: report.audio_levels.map(AudioLevels::as_str),
            broken: report.broken_renditions.clone(),
            renditions: report.renditions.iter().map(RenditionView::from).collect(),
            not_copied: report.not_copied.iter().map(NotCopiedView::from).collect(),
            left_out: report.left_out.iter().map(LeftOutView::from).collect(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OfferedRendition")]
struct RenditionView {
    name: String,
    #[schemars(with = "schema::Kind")]
    r#type: &'static str,
    #[schemars(extend("enum" = ["copied", "encoded"]))]
    method: &'static str,
    #[schemars(with = "schema::Id")]
    track_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Size")]
    resolution: Option<&'static str>,
}

impl From<&OfferedRendition> for RenditionView {
    fn from(rendition: &OfferedRendition) -> Self {
        Self {
            name: rendition.name.clone(),
            r#type: kind(rendition.resolution.is_some()),
            method: if rendition.is_encoded { "encoded" } else { "copied" },
            track_id: rendition.track.to_string(),
            resolution: rendition.resolution.map(|resolution| resolution.as_str()),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NotCopied")]
struct NotCopiedView {
    #[schemars(with = "schema::Kind")]
    r#type: &'static str,
    #[schemars(with = "schema::Id")]
    track_id: String,
    #[schemars(with = "schema::Reason")]
    reason: &'static str,
    detail: String,
}

impl From<&NotCopiedTrack> for NotCopiedView {
    fn from(not_copied: &NotCopiedTrack) -> Self {
        Self {
            r#type: kind(not_copied.is_video),
            track_id: not_copied.track.to_string(),
            reason: not_copied.why.reason.as_str(),
            detail: not_copied.why.detail.clone(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LeftOut")]
struct LeftOutView {
    #[schemars(with = "schema::Kind")]
    r#type: &'static str,
    detail: String,
}

impl From<&LeftOutTrack> for LeftOutView {
    fn from(track: &LeftOutTrack) -> Self {
        Self { r#type: kind(track.is_video), detail: track.detail.clone() }
    }
}

fn kind(is_video: bool) -> &'static str {
    if is_video { "video" } else { "audio" }
}
