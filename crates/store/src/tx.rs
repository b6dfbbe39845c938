//! The transaction of a write closure.

use std::sync::Arc;

use kinora_domain::{Random, Timestamp};

use crate::sql::Session;
use crate::store::SharedState;

/// A transaction: its reads see its own writes, and other transactions see them only after the commit.
///
/// The files of the aggregates define its methods.
pub struct Tx {
    pub(crate) session: Session,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) signals: CommitSignals,
}

/// The signals of a commit to waiting tasks and caches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CommitSignals {
    /// Rows behind responses changed: workspaces, tokens, signing keys, revoked tokens, media, playlists,
    /// webhooks.
    pub(crate) rows: bool,
    /// There may be a job to claim.
    pub(crate) jobs: bool,
    /// There may be a delivery to claim.
    pub(crate) deliveries: bool,
}

impl CommitSignals {
    pub(crate) const ALL: Self = Self { rows: true, jobs: true, deliveries: true };

    pub(crate) fn is_some(self) -> bool {
        self.rows || self.jobs || self.deliveries
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.rows |= other.rows;
        self.jobs |= other.jobs;
        self.deliveries |= other.deliveries;
    }
}

impl Tx {
    pub(crate) fn new(session: Session, shared: Arc<SharedState>) -> Self {
        Self { session, shared, signals: CommitSignals::default() }
    }

    /// The random source of the store, for IDs of rows that depend on what the transaction read.
    pub fn random(&self) -> &dyn Random {
        self.shared.random.as_ref()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }
}
