//! A running job and its permit in the worker pool. It releases the permit while it waits for a source.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use kinora_store::{ClaimedJob, DownloadProgress};

use crate::{Admission, Permit};

/// Owns the permit until it is dropped, except between [`Claim::release_slot`] and [`Claim::acquire_slot`].
#[derive(Debug)]
pub(crate) struct Claim {
    job: ClaimedJob,
    slots: Admission,
    permit: Mutex<Option<Permit>>,
    progress: Progress,
}

/// The remaining attempts of a download, for a later run of its job. Clones share state.
#[derive(Debug, Clone)]
pub(crate) struct Progress(Arc<Mutex<Option<DownloadProgress>>>);

impl Progress {
    /// The progress of earlier runs.
    fn of(job: &ClaimedJob) -> Self {
        Self(Arc::new(Mutex::new(job.progress)))
    }

    pub(crate) fn get(&self) -> Option<DownloadProgress> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// Acquires a permit in the worker pool, even if none is free.
    pub(crate) fn new(job: ClaimedJob, slots: &Admission) -> Self {
        let permit = Mutex::new(Some(slots.force_acquire(job.workspace)));
        let progress = Progress::of(&job);
        Self { job, slots: slots.clone(), permit, progress }
    }

    /// The remaining attempts, also after the job was aborted.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Records the remaining attempts after an interrupted one.
    pub(crate) fn record_progress(&self, progress: DownloadProgress) {
        *self.progress.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// The job, for a closure that may run again.
    pub(crate) fn cloned_job(&self) -> ClaimedJob {
        self.job.clone()
    }

    /// Releases the permit.
    pub(crate) fn release_slot(&self) {
        self.set_permit(None);
    }

    /// Waits for a permit. Does nothing if the claim has one.
    pub(crate) async fn acquire_slot(&self) {
        let has_slot = self.permit.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if !has_slot {
            self.set_permit(Some(self.slots.acquire(self.job.workspace).await));
        }
    }

    fn set_permit(&self, permit: Option<Permit>) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }
}

impl Deref for Claim {
    type Target = ClaimedJob;

    fn deref(&self) -> &ClaimedJob {
        &self.job
    }
}
