//! The settings of a media, chosen by the client at creation.

use std::collections::BTreeMap;

use super::{AudioEdit, Mp4Support, TimelineEdit, Watermark};
use crate::{InputId, Resolution};

/// The settings that have an effect or are returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaSettings {
    /// The title that people see.
    pub title: Option<String>,
    /// The client's own ID of the creator.
    pub creator_id: Option<String>,
    /// The client's own key-value pairs; `None` if it sent none.
    pub metadata: Option<BTreeMap<String, String>>,
    /// The largest rendition that is stored or streamed.
    pub max_resolution: Resolution,
    /// Returned only; so far there is one quality.
    pub quality: MediaQuality,
    /// Whether the original is downloadable.
    pub source_access: bool,
    /// The MP4 files offered in addition to playback.
    pub mp4_support: Mp4Support,
    /// Whether the audio is levelled after the media is ready, see [`MediaLoudness`](super::MediaLoudness).
    pub optimize_audio: bool,
    /// The edit of the audio before the media is ready.
    pub audio_edit: Option<AudioEdit>,
    /// The edit of the timeline before the media is ready.
    pub timeline_edit: Option<TimelineEdit>,
    /// The image over its video.
    pub watermark: Option<Watermark>,
}

impl MediaSettings {
    /// Most entries of metadata (C-119).
    pub const METADATA_ENTRIES_MAX: usize = 10;
    /// Longest key or value of metadata, title and creator ID, in characters (C-119).
    pub const TEXT_MAX: usize = 255;

    /// Whether the media plays something other than its file as it is.
    pub fn is_edited(&self) -> bool {
        self.audio_edit.is_some() || self.timeline_edit.is_some() || self.watermark.is_some()
    }
}

impl Default for MediaSettings {
    fn default() -> Self {
        Self {
            title: None,
            creator_id: None,
            metadata: None,
            max_resolution: Resolution::P1080,
            quality: MediaQuality::default(),
            source_access: false,
            mp4_support: Mp4Support::default(),
            optimize_audio: false,
            audio_edit: None,
            timeline_edit: None,
            watermark: None,
        }
    }
}

/// The quality that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MediaQuality {
    /// The default.
    #[default]
    Standard,
    /// Better than the default.
    Pro,
    /// The best.
    Premium,
}

impl MediaQuality {
    /// All qualities, the default first.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Pro, Self::Premium];

    /// The name in requests, responses and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Pro => "pro",
            Self::Premium => "premium",
        }
    }

    /// The quality with this name.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|quality| quality.as_str() == text)
    }
}

/// The video input of a media; each media has one. The files of its edits are in [`MediaSettings`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its ID.
    pub id: InputId,
    /// The address it is fetched from.
    pub url: String,
}
