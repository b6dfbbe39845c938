//! The states of a media. The transitions are methods of [`super::Media`].

use super::MediaFacts;
use crate::{Failure, SourceId, Timestamp};

/// The state of a media. Only lasting states are stored (C-34): a source that needs no processing becomes
/// `Ready` in the one commit after its last byte.
#[derive(Debug, Clone, PartialEq)]
pub enum MediaState {
    /// Registered; nothing has been fetched.
    Created,
    /// Its bytes are being fetched.
    Downloading {
        /// Start of this attempt.
        started_at: Timestamp,
        /// The source ID of its bytes.
        source: SourceId,
    },
    /// It can be played.
    Ready {
        /// When it became ready.
        ready_at: Timestamp,
        /// The source ID of its bytes.
        source: SourceId,
        /// The facts about its source.
        facts: MediaFacts,
    },
    /// It failed, which is final.
    Failed {
        /// When it failed.
        failed_at: Timestamp,
        /// The reason.
        failure: Failure,
    },
}

impl MediaState {
    /// The results of [`name`](Self::name), in the order of the life cycle.
    pub const NAMES: [&'static str; 4] = ["Created", "Downloading", "Ready", "Failed"];

    /// The name in responses and rows (C-137).
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created => "Created",
            Self::Downloading { .. } => "Downloading",
            Self::Ready { .. } => "Ready",
            Self::Failed { .. } => "Failed",
        }
    }
}

/// The current state does not allow this transition; nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot {action} a media that is {found}")]
pub struct WrongState {
    /// The rejected action.
    pub action: &'static str,
    /// The current state.
    pub found: &'static str,
}
