//! A running job and its place in the lane. It releases the place while it waits for a source.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use kinora_store::{ClaimedJob, DownloadProgress};

use crate::{Admission, Permit};

/// Holds the place until it is dropped, except between [`Claim::leave_place`] and [`Claim::take_place`].
#[derive(Debug)]
pub(crate) struct Claim {
    job: ClaimedJob,
    lane: Admission,
    permit: Mutex<Option<Permit>>,
    progress: Progress,
}

/// What is left of the attempts of a download, for a later run of its job. Clones share state.
#[derive(Debug, Clone)]
pub(crate) struct Progress(Arc<Mutex<Option<DownloadProgress>>>);

impl Progress {
    /// What earlier runs left.
    fn of(job: &ClaimedJob) -> Self {
        Self(Arc::new(Mutex::new(job.progress)))
    }

    pub(crate) fn get(&self) -> Option<DownloadProgress> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// Takes a place in the lane, even if none is free.
    pub(crate) fn new(job: ClaimedJob, lane: &Admission) -> Self {
        let permit = Mutex::new(Some(lane.enter(job.workspace)));
        let progress = Progress::of(&job);
        Self { job, lane: lane.clone(), permit, progress }
    }

    /// What is left of its attempts, also after the job was aborted.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Notes what is left of its attempts when one was cut.
    pub(crate) fn note_progress(&self, progress: DownloadProgress) {
        *self.progress.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// The job, for a closure that may run again.
    pub(crate) fn claimed(&self) -> ClaimedJob {
        self.job.clone()
    }

    /// Releases the place.
    pub(crate) fn leave_place(&self) {
        self.set(None);
    }

    /// Waits for a place. Does nothing while it has one.
    pub(crate) async fn take_place(&self) {
        let has_place = self.permit.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if !has_place {
            self.set(Some(self.lane.acquire(self.job.workspace).await));
        }
    }

    fn set(&self, permit: Option<Permit>) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }
}

impl Deref for Claim {
    type Target = ClaimedJob;

    fn deref(&self) -> &ClaimedJob {
        &self.job
    }
}
