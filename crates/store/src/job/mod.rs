//! Jobs: queued work and its leases.

mod kind;
mod lease;
mod progress;

use kinora_domain::{JobId, Random, Timestamp, WorkspaceId};

pub use kind::{JobKind, JobQueue, Priority};
#[cfg(test)]
pub(crate) use lease::STATEMENTS as LEASE;
pub use progress::DownloadProgress;

use crate::sql::{Session, statements, values};
use crate::{Error, Tx, WorkerId};

/// A job to queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// The task.
    pub kind: JobKind,
    /// The workspace whose share of the slots it takes. `None`: maintenance of the server itself.
    pub workspace: Option<WorkspaceId>,
    /// The earliest start.
    pub run_at: Timestamp,
    /// Its order among due jobs.
    pub priority: Priority,
}

impl NewJob {
    /// A job that is due at once, with normal priority.
    pub fn due_now(kind: JobKind, workspace: impl Into<Option<WorkspaceId>>, now: Timestamp) -> Self {
        Self { kind, workspace: workspace.into(), run_at: now, priority: Priority::Normal }
    }
}

/// The jobs to claim, and the end of their leases.
#[derive(Debug, Clone)]
pub struct ClaimJobs {
    /// The worker that claims them.
    pub owner: WorkerId,
    /// The queue to claim from.
    pub queue: JobQueue,
    /// The most jobs to claim of each workspace.
    pub workspace_limits: Vec<WorkspaceLimit>,
    /// The present instant.
    pub now: Timestamp,
    /// The end of the lease, unless it is renewed; from then on another worker may claim them.
    pub lease_until: Timestamp,
}

/// The number of jobs to claim of one workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkspaceLimit {
    /// The workspace; `None`: the server itself.
    pub workspace: Option<WorkspaceId>,
    /// The most jobs.
    pub limit: u32,
}

/// A workspace with claimable jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueWorkspace {
    /// The workspace; `None`: the server itself.
    pub workspace: Option<WorkspaceId>,
    /// The highest priority of its due jobs.
    pub priority: Priority,
}

/// A job that one worker leases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedJob {
    /// Its id.
    pub id: JobId,
    /// The task.
    pub kind: JobKind,
    /// The workspace; `None`: the server itself.
    pub workspace: Option<WorkspaceId>,
    /// The number of claims, this one included. Lost leases and crashes count too.
    pub attempt: u32,
    /// The worker that leases it.
    pub owner: WorkerId,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it became due.
    pub run_at: Timestamp,
    /// The priority that it was queued with.
    pub priority: Priority,
    /// The progress of an earlier run of a download.
    pub progress: Option<DownloadProgress>,
}

/// The proof that a worker leases a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobLease {
    /// The job.
    pub id: JobId,
    /// The worker that leases it.
    pub owner: WorkerId,
    /// The number of the claim.
    pub attempt: u32,
}

impl ClaimedJob {
    /// The lease of this claim.
    pub fn lease(&self) -> JobLease {
        JobLease { id: self.id, owner: self.owner, attempt: self.attempt }
    }
}

/// The workspace column of a job: empty for the server itself, so that one comparison fits all rows.
fn workspace_text(workspace: Option<WorkspaceId>) -> String {
    workspace.map(|workspace| workspace.to_string()).unwrap_or_default()
}

statements! {
    INSERT = "INSERT INTO job (id, queue, kind, payload, workspace_id, priority, state, run_at, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $8)";
    /// A pending job with the same work.
    PENDING = "SELECT id FROM job WHERE state = 'pending' AND queue = $1 AND kind = $2 AND payload = $3 LIMIT 1";
    /// The claim does not count: the attempt number goes back by one.
    DEFER = "UPDATE job SET run_at = $4, note = $5, progress = NULL, lease_owner = NULL, leased_until = NULL, attempt = attempt - 1
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    RESCHEDULE = "UPDATE job SET run_at = $4, progress = $5, lease_owner = NULL, leased_until = NULL, attempt = attempt - 1
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    CANCEL = "UPDATE job SET state = 'done', note = 'not needed any more', finished_at = $4, lease_owner = NULL,
        leased_until = NULL WHERE state = 'pending' AND queue = $1 AND kind = $2 AND payload = $3";
    /// Changes no value. It locks the row, so other changes of the job wait for the commit.
    LOCK = "UPDATE job SET note = note WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    FINISH = "UPDATE job SET state = $4, note = $5, finished_at = $6, lease_owner = NULL, leased_until = NULL
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    RETRY = "UPDATE job SET run_at = $4, note = $5, progress = NULL, lease_owner = NULL, leased_until = NULL
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
}

/// Inserts the row of a new job.
pub(crate) async fn insert(
    session: &mut Session,
    job: &NewJob,
    now: Timestamp,
    random: &dyn Random,
) -> Result<JobId, Error> {
    let id = JobId::new(now, random);
    let values = values![
        id,
        job.kind.queue().as_str(),
        job.kind.name(),
        job.kind.payload(),
        workspace_text(job.workspace),
        job.priority.rank(),
        job.run_at,
        now,
    ];
    session.execute(INSERT, values).await?;
    Ok(id)
}

impl Tx {
    /// Queues a job. No worker can claim it before the commit.
    pub async fn enqueue(&mut self, job: NewJob) -> Result<JobId, Error> {
        let (now, shared) = (self.now(), self.shared.clone());
        let id = insert(&mut self.session, &job, now, shared.random.as_ref()).await?;
        self.signals.jobs = true;
        Ok(id)
    }

    /// Queues a job, unless the same work is pending. May run twice.
    pub async fn enqueue_unique(&mut self, job: NewJob) -> Result<(), Error> {
        let values = values![job.kind.queue().as_str(), job.kind.name(), job.kind.payload()];
        if self.session.first(PENDING, values).await?.is_none() {
            self.enqueue(job).await?;
        }
        Ok(())
    }

    /// Cancels a job that is no longer needed, also while a worker runs it: that worker loses its lease.
    /// May run twice.
    pub async fn cancel_job(&mut self, kind: JobKind) -> Result<(), Error> {
        let values = values![kind.queue().as_str(), kind.name(), kind.payload(), self.now()];
        self.session.execute(CANCEL, values).await.map(drop)
    }

    /// Locks a leased job until the commit. [`Error::LeaseLost`] as in [`Tx::complete_job`].
    pub async fn lock_job(&mut self, job: &ClaimedJob) -> Result<(), Error> {
        let rows = self.session.execute(LOCK, values![job.id, job.owner, job.attempt]).await?;
        self.check_lease(rows)
    }

    /// Releases a job that could not be tried, such as on a full disk. The claim does not count as an
    /// attempt. [`Error::LeaseLost`] as in [`Tx::complete_job`].
    pub async fn defer_job(&mut self, job: &ClaimedJob, run_at: Timestamp, note: &str) -> Result<(), Error> {
        let values = values![job.id, job.owner, job.attempt, run_at, note];
        let rows = self.session.execute(DEFER, values).await?;
        self.signals.jobs = true;
        self.check_lease(rows)
    }

    /// Releases a download that continues later, with its progress for the next run. The claim does not
    /// count as an attempt. [`Error::LeaseLost`] as in [`Tx::complete_job`].
    pub async fn reschedule_download(
        &mut self,
        job: &ClaimedJob,
        run_at: Timestamp,
        progress: DownloadProgress,
    ) -> Result<(), Error> {
        let values = values![job.id, job.owner, job.attempt, run_at, progress.to_json()];
        let rows = self.session.execute(RESCHEDULE, values).await?;
        self.signals.jobs = true;
        self.check_lease(rows)
    }

    /// Completes a job that succeeded. [`Error::LeaseLost`] when another worker has the lease; then the
    /// whole transaction is rolled back.
    pub async fn complete_job(&mut self, job: &ClaimedJob) -> Result<(), Error> {
        self.finish_job(job, "done", None).await
    }

    /// Ends a job that failed for good; `note` says why. [`Error::LeaseLost`] as in [`Tx::complete_job`].
    pub async fn fail_job(&mut self, job: &ClaimedJob, note: &str) -> Result<(), Error> {
        self.finish_job(job, "failed", Some(note)).await
    }

    /// Releases a job for a retry at `run_at`; `note` says why. [`Error::LeaseLost`] as in
    /// [`Tx::complete_job`].
    pub async fn retry_job(&mut self, job: &ClaimedJob, run_at: Timestamp, note: &str) -> Result<(), Error> {
        let values = values![job.id, job.owner, job.attempt, run_at, note];
        let rows = self.session.execute(RETRY, values).await?;
        self.signals.jobs = true;
        self.check_lease(rows)
    }

    async fn finish_job(&mut self, job: &ClaimedJob, state: &str, note: Option<&str>) -> Result<(), Error> {
        let values = values![job.id, job.owner, job.attempt, state, note, self.now()];
        let rows = self.session.execute(FINISH, values).await?;
        self.check_lease(rows)
    }

    fn check_lease(&mut self, rows: u64) -> Result<(), Error> {
        if rows == 0 { Err(self.session.fail_with(Error::LeaseLost)) } else { Ok(()) }
    }
}
