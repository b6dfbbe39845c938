//! The jobs that wait for disk space.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kinora_domain::JobId;

/// The jobs that found the disk full and have not ended since; clones share state.
///
/// A waiting job has deleted its output, so the free disk space alone does not reveal the shortage.
#[derive(Debug, Clone, Default)]
pub struct DiskFullJobs(Arc<Mutex<HashSet<JobId>>>);

impl DiskFullJobs {
    /// Whether any job waits.
    pub fn is_any_waiting(&self) -> bool {
        !self.jobs().is_empty()
    }

    pub(crate) fn is_waiting(&self, job: JobId) -> bool {
        self.jobs().contains(&job)
    }

    /// Records that the disk was full for this job.
    pub(crate) fn add(&self, job: JobId) {
        self.jobs().insert(job);
    }

    /// Records that the job has ended, or failed for another reason.
    pub(crate) fn remove(&self, job: JobId) {
        self.jobs().remove(&job);
    }

    fn jobs(&self) -> MutexGuard<'_, HashSet<JobId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
