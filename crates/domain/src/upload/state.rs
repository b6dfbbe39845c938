//! Where an upload stands.

use crate::{Failure, Timestamp};

/// C-28.
#[derive(Debug, Clone, PartialEq)]
pub enum UploadState {
    /// Nothing has come.
    Waiting,
    /// Some bytes are kept.
    Uploading {
        /// How many from the start, when it was last written down.
        kept: u64,
        /// When that was.
        kept_at: Timestamp,
    },
    /// The whole file is kept; the media goes on by itself.
    Completed {
        /// Since when.
        at: Timestamp,
        /// The media has taken the file over, or it was given up; until then its objects belong to the
        /// upload.
        is_handed_over: bool,
    },
    /// The client wanted it no more.
    Cancelled {
        /// Since when.
        at: Timestamp,
    },
    /// Nothing came in time.
    TimedOut {
        /// Since when.
        at: Timestamp,
    },
    /// What came can never become a media.
    Failed {
        /// Since when.
        at: Timestamp,
        /// Why.
        failure: Failure,
    },
}

impl UploadState {
    /// What [`name`](Self::name) may answer.
    pub const NAMES: [&'static str; 6] =
        ["waiting", "uploading", "completed", "cancelled", "timedout", "failed"];

    /// The state as clients and rows see it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Uploading { .. } => "uploading",
            Self::Completed { .. } => "completed",
            Self::Cancelled { .. } => "cancelled",
            Self::TimedOut { .. } => "timedout",
            Self::Failed { .. } => "failed",
        }
    }
}

/// A move that the present state does not allow; nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot {action} an upload that is {found}")]
pub struct UploadWrongState {
    /// What was tried.
    pub action: &'static str,
    /// The state it is in.
    pub found: &'static str,
}
