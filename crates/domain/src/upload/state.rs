//! The states of an upload.

use crate::{Failure, Timestamp};

/// The state of an upload. C-28.
#[derive(Debug, Clone, PartialEq)]
pub enum UploadState {
    /// No byte has arrived.
    Waiting,
    /// Some bytes are stored.
    Uploading {
        /// Number of bytes from the start, at the last save.
        stored: u64,
        /// Time of the last save.
        stored_at: Timestamp,
    },
    /// The whole file is stored; the media continues on its own.
    Completed {
        /// Since when.
        at: Timestamp,
        /// The media has taken over the file, or the file was abandoned. Until then its objects belong to
        /// the upload.
        is_handed_over: bool,
    },
    /// The client cancelled it.
    Cancelled {
        /// Since when.
        at: Timestamp,
    },
    /// The timeout has passed.
    TimedOut {
        /// Since when.
        at: Timestamp,
    },
    /// The bytes can never become a media.
    Failed {
        /// Since when.
        at: Timestamp,
        /// The reason.
        failure: Failure,
    },
}

impl UploadState {
    /// The results of [`name`](Self::name).
    pub const NAMES: [&'static str; 6] =
        ["waiting", "uploading", "completed", "cancelled", "timedout", "failed"];

    /// The name in responses and rows.
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

/// The current state does not allow this transition; nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot {action} an upload that is {found}")]
pub struct UploadWrongState {
    /// The rejected action.
    pub action: &'static str,
    /// The current state.
    pub found: &'static str,
}
