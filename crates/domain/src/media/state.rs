//! Where a media stands.

use super::MediaFacts;
use crate::{Failure, SourceId, Timestamp};

/// Only lasting states are stored (C-34): a source that needs no process is `Ready` with the one commit after
/// its last byte.
#[derive(Debug, Clone, PartialEq)]
pub enum MediaState {
    /// Registered; nothing has been fetched.
    Created,
    /// Its bytes are arriving.
    Downloading {
        /// When this attempt began.
        started_at: Timestamp,
        /// Where its bytes go.
        source: SourceId,
    },
    /// It plays.
    Ready {
        /// Since when.
        ready_at: Timestamp,
        /// Where its bytes are.
        source: SourceId,
        /// What they hold.
        facts: MediaFacts,
    },
    /// It will never play.
    Failed {
        /// Since when.
        failed_at: Timestamp,
        /// Why.
        failure: Failure,
    },
}

impl MediaState {
    /// What [`name`](Self::name) may answer, in the order in which a media goes through them.
    pub const NAMES: [&'static str; 4] = ["Created", "Downloading", "Ready", "Failed"];

    /// The state as clients and rows see it (C-137).
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created => "Created",
            Self::Downloading { .. } => "Downloading",
            Self::Ready { .. } => "Ready",
            Self::Failed { .. } => "Failed",
        }
    }
}

/// A move that the present state does not allow; nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot {action} a media that is {found}")]
pub struct WrongState {
    /// What was tried.
    pub action: &'static str,
    /// The state it is in.
    pub found: &'static str,
}
