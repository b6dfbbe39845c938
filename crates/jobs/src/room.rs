//! Who waits for room on the disk.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kinora_domain::JobId;

/// The jobs that found the disk full and have not ended since; clones share it.
///
/// What a job had written is gone when it waits, so the disk itself does not show that something is in want
/// of it.
#[derive(Debug, Clone, Default)]
pub struct Room(Arc<Mutex<HashSet<JobId>>>);

impl Room {
    /// Whether anybody waits.
    pub fn is_wanted(&self) -> bool {
        !self.jobs().is_empty()
    }

    pub(crate) fn is_wanted_by(&self, job: JobId) -> bool {
        self.jobs().contains(&job)
    }

    /// The disk was full for this job.
    pub(crate) fn note_wanted(&self, job: JobId) {
        self.jobs().insert(job);
    }

    /// The job has ended, or failed for another reason.
    pub(crate) fn note_ended(&self, job: JobId) {
        self.jobs().remove(&job);
    }

    fn jobs(&self) -> MutexGuard<'_, HashSet<JobId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
