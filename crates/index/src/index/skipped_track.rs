//! Tracks of a source that are not played.

use serde::{Deserialize, Serialize};

/// A track that cannot be played although another one can; reported to the owner of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedTrack {
    /// True for video, false for audio.
    pub is_video: bool,
    /// The reason as a sentence, at most [`SKIPPED_TRACK_DETAIL_LEN_MAX`] bytes.
    pub detail: String,
}

/// Bytes of the longest detail; a stored index with a longer one is damaged.
pub const SKIPPED_TRACK_DETAIL_LEN_MAX: usize = 256;
/// Most tracks of one source that are listed; further ones are not reported.
pub const SKIPPED_TRACKS_MAX: usize = 16;

impl SkippedTrack {
    /// A track with the reason, which is truncated to the limit.
    pub fn new(is_video: bool, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        detail.truncate(detail.floor_char_boundary(SKIPPED_TRACK_DETAIL_LEN_MAX));
        Self { is_video, detail }
    }
}
