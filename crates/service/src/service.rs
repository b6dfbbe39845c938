//! The dependencies of all operations.

use std::sync::Arc;

use kinora_domain::{Clock, Random};
use kinora_store::Store;

/// Runs operations. Cheap to clone.
///
/// Each operation is one transaction: its rows, events and jobs are committed together, or not at all.
/// Operations are not idempotent: a repeated request creates a second object, unless its [`Commit`] stores
/// the first response.
///
/// [`Commit`]: crate::Commit
#[derive(Clone)]
pub struct Service {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
}

impl Service {
    /// Operations on this database.
    pub fn new(store: Store, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self { store, clock, random }
    }
}
