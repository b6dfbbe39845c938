//! What a client asks for when it creates a media.

use std::collections::BTreeMap;

use super::{Mp4Support, SoundEdit};
use crate::{InputId, Resolution};

/// The wishes that have an effect, or are echoed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaSettings {
    /// Shown to people.
    pub title: Option<String>,
    /// The client's own id of who made it.
    pub creator_id: Option<String>,
    /// The client's own key and value pairs; `None` when it sent none.
    pub metadata: Option<BTreeMap<String, String>>,
    /// Nothing larger is stored as a rendition or streamed.
    pub max_resolution: Resolution,
    /// Echoed; there is one quality so far.
    pub quality: MediaQuality,
    /// Whether the original may be downloaded.
    pub source_access: bool,
    /// Which files are offered beside playback.
    pub mp4_support: Mp4Support,
    /// Echoed; loudness is not normalised so far.
    pub optimize_audio: bool,
    /// What is done to the sound before the media is ready.
    pub sound: Option<SoundEdit>,
}

impl MediaSettings {
    /// Most entries of metadata (C-119).
    pub const METADATA_ENTRIES_MAX: usize = 10;
    /// Longest key or value of metadata, title and creator id, in characters (C-119).
    pub const TEXT_MAX: usize = 255;
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
            sound: None,
        }
    }
}

/// What a client calls the quality it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MediaQuality {
    /// The usual.
    #[default]
    Standard,
    /// More.
    Pro,
    /// Most.
    Premium,
}

impl MediaQuality {
    /// All of them, the usual one first.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Pro, Self::Premium];

    /// The word as clients and rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Pro => "pro",
            Self::Premium => "premium",
        }
    }

    /// The quality with this word.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|quality| quality.as_str() == text)
    }
}

/// Where a media comes from. One video input so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its id.
    pub id: InputId,
    /// The address it is fetched from.
    pub url: String,
}
