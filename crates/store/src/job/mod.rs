//! Jobs: work that is due, and who holds it.

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

/// A job to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// What to do.
    pub kind: JobKind,
    /// For whom: places are shared out by workspace. `None`: the server's own upkeep.
    pub workspace: Option<WorkspaceId>,
    /// Not before.
    pub run_at: Timestamp,
    /// What goes first when several are due.
    pub priority: Priority,
}

impl NewJob {
    /// A job to be done as soon as somebody has time for it.
    pub fn soon(kind: JobKind, workspace: impl Into<Option<WorkspaceId>>, now: Timestamp) -> Self {
        Self { kind, workspace: workspace.into(), run_at: now, priority: Priority::Normal }
    }
}

/// Which jobs to take, and for how long.
#[derive(Debug, Clone)]
pub struct ClaimJobs {
    /// Who takes them.
    pub owner: WorkerId,
    /// From which queue.
    pub queue: JobQueue,
    /// How many at most of which workspaces.
    pub shares: Vec<JobShare>,
    /// The present instant.
    pub now: Timestamp,
    /// When somebody else may take them, unless the lease is renewed.
    pub lease_until: Timestamp,
}

/// How many jobs of one workspace to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobShare {
    /// Whose; `None`: the server's own.
    pub workspace: Option<WorkspaceId>,
    /// At most.
    pub limit: u32,
}

/// A workspace that has jobs to be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueWorkspace {
    /// Which; `None`: the server itself.
    pub workspace: Option<WorkspaceId>,
    /// The highest priority of its due jobs.
    pub priority: Priority,
}

/// A job in the hands of one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedJob {
    /// Its id.
    pub id: JobId,
    /// What to do.
    pub kind: JobKind,
    /// For whom; `None`: the server itself.
    pub workspace: Option<WorkspaceId>,
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
    /// What an earlier run left of a download.
    pub progress: Option<DownloadProgress>,
}

/// What proves that a worker holds a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// The workspace of a job as its row has it: empty for the server's own, so that one comparison fits all.
fn workspace_text(workspace: Option<WorkspaceId>) -> String {
    workspace.map(|workspace| workspace.to_string()).unwrap_or_default()
}

statements! {
    INSERT = "INSERT INTO job (id, queue, kind, payload, workspace_id, priority, state, run_at, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $8)";
    /// The same work, still to be done.
    PENDING = "SELECT id FROM job WHERE state = 'pending' AND queue = $1 AND kind = $2 AND payload = $3 LIMIT 1";
    /// The claim does not count: it is given back as it was found.
    DEFER = "UPDATE job SET run_at = $4, note = $5, progress = NULL, lease_owner = NULL, leased_until = NULL, attempt = attempt - 1
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    LATER = "UPDATE job SET run_at = $4, progress = $5, lease_owner = NULL, leased_until = NULL, attempt = attempt - 1
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    DROP = "UPDATE job SET state = 'done', note = 'not needed any more', finished_at = $4, lease_owner = NULL,
        leased_until = NULL WHERE state = 'pending' AND queue = $1 AND kind = $2 AND payload = $3";
    /// Changes nothing: what changes the job waits for the commit.
    HOLD = "UPDATE job SET note = note WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    FINISH = "UPDATE job SET state = $4, note = $5, finished_at = $6, lease_owner = NULL, leased_until = NULL
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    RETRY = "UPDATE job SET run_at = $4, note = $5, progress = NULL, lease_owner = NULL, leased_until = NULL
        WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
}

/// Writes the row of a new job.
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
    /// Adds a job. Nobody can claim it before the commit.
    pub async fn enqueue(&mut self, job: NewJob) -> Result<JobId, Error> {
        let (now, common) = (self.now(), self.common.clone());
        let id = insert(&mut self.session, &job, now, common.random.as_ref()).await?;
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

    /// Ends a job that is not needed any more, also one that somebody works on: that worker has lost its
    /// lease. May run twice.
    pub async fn drop_job(&mut self, kind: JobKind) -> Result<(), Error> {
        let values = values![kind.queue().as_str(), kind.name(), kind.payload(), self.now()];
        self.session.execute(DROP, values).await.map(drop)
    }

    /// Holds a job until the commit: nobody took or ended it before. [`Error::LeaseLost`] as in
    /// [`Tx::complete_job`].
    pub async fn hold_job(&mut self, job: &ClaimedJob) -> Result<(), Error> {
        let rows = self.session.execute(HOLD, values![job.id, job.owner, job.attempt]).await?;
        self.held(rows)
    }

    /// Gives a job back that could not even be tried, such as for want of disk: the claim is not counted as
    /// an attempt. [`Error::LeaseLost`] as in [`Tx::complete_job`].
    pub async fn defer_job(&mut self, job: &ClaimedJob, run_at: Timestamp, note: &str) -> Result<(), Error> {
        let values = values![job.id, job.owner, job.attempt, run_at, note];
        let rows = self.session.execute(DEFER, values).await?;
        self.effects.jobs = true;
        self.held(rows)
    }

    /// Gives a download back that goes on later, with what a later run needs: the claim is not counted as an
    /// attempt. [`Error::LeaseLost`] as in [`Tx::complete_job`].
    pub async fn continue_job_later(
        &mut self,
        job: &ClaimedJob,
        run_at: Timestamp,
        progress: DownloadProgress,
    ) -> Result<(), Error> {
        let values = values![job.id, job.owner, job.attempt, run_at, progress.to_json()];
        let rows = self.session.execute(LATER, values).await?;
        self.effects.jobs = true;
        self.held(rows)
    }

    /// Ends a job that did what it should. [`Error::LeaseLost`] when somebody else holds it now; then nothing
    /// of the whole transaction is kept.
    pub async fn complete_job(&mut self, job: &ClaimedJob) -> Result<(), Error> {
        self.finish_job(job, "done", None).await
    }

    /// Ends a job that will never do what it should; `note` says why. [`Error::LeaseLost`] as in
    /// [`Tx::complete_job`].
    pub async fn fail_job(&mut self, job: &ClaimedJob, note: &str) -> Result<(), Error> {
        self.finish_job(job, "failed", Some(note)).await
    }

    /// Gives a job back to be claimed again; `note` says why. [`Error::LeaseLost`] as in
    /// [`Tx::complete_job`].
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
