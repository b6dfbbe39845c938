//! Tracks of a source that are not played.

use serde::{Deserialize, Serialize};

/// A track that cannot be played beside one that can, for the owner of the source to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// It has pictures; else sound.
    pub is_picture: bool,
    /// A sentence that says why, at most [`LEFT_OUT_DETAIL_LEN_MAX`] bytes.
    pub detail: String,
}

/// Bytes of the longest detail; a stored index with a longer one is damaged.
pub const LEFT_OUT_DETAIL_LEN_MAX: usize = 256;
/// Most tracks of one source that are named; more are left out without a mention.
pub const LEFT_OUT_MAX: usize = 16;

impl LeftOut {
    /// A track with the reason, which is cut where it is too long.
    pub fn new(is_picture: bool, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        detail.truncate(detail.floor_char_boundary(LEFT_OUT_DETAIL_LEN_MAX));
        Self { is_picture, detail }
    }
}
