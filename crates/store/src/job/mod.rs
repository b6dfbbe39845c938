//! Jobs: work that is due, and who holds it.

mod kind;
mod lease;

use kinora_domain::{JobId, Timestamp};

pub use kind::{JobKind, JobQueue, Priority};
#[cfg(test)]
pub(crate) use lease::STATEMENTS as LEASE;

use crate::sql::{statements, values};
use crate::{Error, Tx, WorkerId};

/// A job to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// What to do.
    pub kind: JobKind,
    /// Not before.
    pub run_at: Timestamp,
    /// What goes first when several are due.
    pub priority: Priority,
}

impl NewJob {
    /// A job to be done as soon as somebody has time for it.
    pub fn soon(kind: JobKind, now: Timestamp) -> Self {
        Self { kind, run_at: now, priority: Priority::Normal }
    }
}

/// Which jobs to take, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct ClaimJobs {
    /// Who takes them.
    pub owner: WorkerId,
    /// From which queue.
    pub queue: JobQueue,
    /// Most of them.
    pub limit: u32,
    /// The present instant.
    pub now: Timestamp,
    /// When somebody else may take them, unless the lease is renewed.
    pub lease_until: Timestamp,
}

/// A job in the hands of one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedJob {
    /// Its id.
    pub id: JobId,
    /// What to do.
    pub kind: JobKind,
    /// How often it has been claimed, this time included. Counts lost leases and crashes too.
    pub attempt: u32,
    /// Who holds it.
    pub owner: WorkerId,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when it was due.
    pub run_at: Timestamp,
    /// As it was made.
    pub priority: Priority,
}

/// What proves that a worker holds a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLease {
    /// Which job.
    pub id: JobId,
    /// Who holds it.
    pub owner: WorkerId,
    /// Of which claim.
    pub attempt: u32,
}

impl ClaimedJob {
    /// What proves that it is held.
    pub fn lease(&self) -> JobLease {
        JobLease { id: self.id, owner: self.owner, attempt: self.attempt }
    }
}

statements! {
    INSERT = "INSERT INTO job (id, queue, kind, payload, priority, state, run_at, created_at)
        VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7)";
    /// The same work, still to be done.
    PENDING = "SELECT id FROM job WHERE state = 'pending' AND queue = $1 AND kind = $2 AND payload = $3 LIMIT 1";
    /// The claim does not count: it is given back as it was found.
    DEFER = "UPDATE job SET run_at = $4, note = $5, lease_owner = NULL, leased_until = NULL, attempt = attempt - 1
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    DROP = "UPDATE job SET state = 'done', note = 'not needed any more', finished_at = $4, lease_owner = NULL,
        leased_until = NULL WHERE state = 'pending' AND queue = $1 AND kind = $2 AND payload = $3";
    FINISH = "UPDATE job SET state = $4, note = $5, finished_at = $6, lease_owner = NULL, leased_until = NULL
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    HELD = "SELECT id FROM job WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    RETRY = "UPDATE job SET run_at = $4, note = $5, lease_owner = NULL, leased_until = NULL
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
}

impl Tx {
    /// Adds a job. Nobody can claim it before the commit.
    pub async fn enqueue(&mut self, job: NewJob) -> Result<JobId, Error> {
        let now = self.now();
        let id = JobId::new(now, self.common.random.as_ref());
        let values = values![
            id,
            job.kind.queue().as_str(),
            job.kind.name(),
            job.kind.payload(),
            job.priority.rank(),
            job.run_at,
            now,
        ];
        self.session.execute(INSERT, values).await?;
        self.effects.jobs = true;
        Ok(id)
    }

    /// Adds a job, unless the same work is still to be done. May run twice.
    pub async fn enqueue_once(&mut self, job: NewJob) -> Result<(), Error> {
        let values = values![job.kind.queue().as_str(), job.kind.name(), job.kind.payload()];
        if self.session.first(PENDING, values).await?.is_none() {
            self.enqueue(job).await?;
        }
        Ok(())
    }

    /// Ends a job that is not needed any more, also one that somebody works on: that worker has lost its lease. May run twice.
    pub async fn drop_job(&mut self, kind: JobKind) -> Result<(), Error> {
        let values = values![kind.queue().as_str(), kind.name(), kind.payload(), self.now()];
        self.session.execute(DROP, values).await.map(drop)
    }

    /// Gives a job back that could not even be tried, such as for want of disk: the claim is not counted as an attempt.
    /// [`Error::LeaseLost`] as in [`Tx::complete_job`].
    pub async fn defer_job(&mut self, job: &ClaimedJob, run_at: Timestamp, note: &str) -> Result<(), Error> {
        let values = values![job.id, job.owner, job.attempt, run_at, note];
        let rows = self.session.execute(DEFER, values).await?;
        self.effects.jobs = true;
        self.held(rows)
    }

    /// Whether a job is still in these hands, for what is written before its end. [`Error::LeaseLost`] as in [`Tx::complete_job`].
    pub async fn check_lease(&mut self, job: &ClaimedJob) -> Result<(), Error> {
        let held = self.session.first(HELD, values![job.id, job.owner, job.attempt]).await?;
        self.held(u64::from(held.is_some()))
    }

    /// Ends a job that did what it should. [`Error::LeaseLost`] when somebody else holds it now; then nothing of the whole
    /// transaction is kept.
    pub async fn complete_job(&mut self, job: &ClaimedJob) -> Result<(), Error> {
        self.finish_job(job, "done", None).await
    }

    /// Ends a job that will never do what it should; `note` says why. [`Error::LeaseLost`] as in [`Tx::complete_job`].
    pub async fn fail_job(&mut self, job: &ClaimedJob, note: &str) -> Result<(), Error> {
        self.finish_job(job, "failed", Some(note)).await
    }

    /// Gives a job back to be claimed again; `note` says why. [`Error::LeaseLost`] as in [`Tx::complete_job`].
    pub async fn retry_job(&mut self, job: &ClaimedJob, run_at: Timestamp, note: &str) -> Result<(), Error> {
        let values = values![job.id, job.owner, job.attempt, run_at, note];
        let rows = self.session.execute(RETRY, values).await?;
        self.effects.jobs = true;
        self.held(rows)
    }

    async fn finish_job(&mut self, job: &ClaimedJob, state: &str, note: Option<&str>) -> Result<(), Error> {
        let values = values![job.id, job.owner, job.attempt, state, note, self.now()];
        let rows = self.session.execute(FINISH, values).await?;
        self.held(rows)
    }

    fn held(&mut self, rows: u64) -> Result<(), Error> {
        if rows == 0 { Err(self.session.refuse(Error::LeaseLost)) } else { Ok(()) }
    }
}
