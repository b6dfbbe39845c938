//! Reasons why a track has no copy rendition.

use super::LAYOUT_CHANNELS_MAX;
use serde::{Deserialize, Serialize};

/// Why a track has no copy rendition; reported to its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCopied {
    /// The kind of reason.
    pub reason: NotCopiedReason,
    /// The cause in a few words: `open GOP`, `10-bit`, `ProRes`. At most [`NOT_COPIED_DETAIL_LEN_MAX`]
    /// bytes.
    pub detail: String,
}

/// Bytes of the longest detail; a stored index with a longer one is damaged.
pub const NOT_COPIED_DETAIL_LEN_MAX: usize = 128;

/// The kinds of reason. M-4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotCopiedReason {
    /// Players do not support the codec.
    Codec,
    /// A bit depth or chroma format that players do not decode.
    PixelFormat,
    /// Frames consist of two fields.
    Interlaced,
    /// A keyframe has leading pictures that need the GOP before.
    OpenGop,
    /// Keyframes are further apart than the longest segment, or there are none.
    LongGop,
    /// The edit list cuts where no decoder can start, changes the speed, or freezes a frame.
    Edits,
    /// Timestamps are missing, jump or go backwards.
    Timing,
    /// The codec or format changes within the track.
    FormatChanges,
    /// Level, size or rate exceed what players decode.
    TooLarge,
    /// An overlay is drawn over the video.
    Watermark,
}

impl NotCopiedReason {
    /// Every reason, with its byte in a stored index.
    const ALL: [(Self, u8); 10] = [
        (Self::Codec, 1),
        (Self::PixelFormat, 2),
        (Self::Interlaced, 3),
        (Self::OpenGop, 4),
        (Self::LongGop, 5),
        (Self::Edits, 6),
        (Self::Timing, 7),
        (Self::FormatChanges, 8),
        (Self::TooLarge, 9),
        (Self::Watermark, 10),
    ];

    pub(crate) fn byte(self) -> u8 {
        Self::ALL.iter().find(|row| row.0 == self).expect("every reason is in the table").1
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.iter().find(|row| row.1 == byte).map(|row| row.0)
    }
}

impl NotCopied {
    /// A reason with its detail, which is truncated to the limit.
    pub fn new(reason: NotCopiedReason, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        detail.truncate(detail.floor_char_boundary(NOT_COPIED_DETAIL_LEN_MAX));
        Self { reason, detail }
    }

    /// An audio track of an unsupported codec, with this number of channels.
    pub fn unsupported_audio_codec(found: &str, channels: u32) -> Self {
        let detail = match channels {
            0..=LAYOUT_CHANNELS_MAX => found.to_owned(),
            more => format!("{found} of {more} channels; the first two are played"),
        };
        Self::new(NotCopiedReason::Codec, detail)
    }
}
