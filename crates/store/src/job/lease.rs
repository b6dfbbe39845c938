//! Claims jobs, renews their leases, and releases leases after a crash.

use std::collections::HashSet;

use kinora_domain::{JobId, Timestamp, WorkspaceId};

use super::{
    ClaimJobs, ClaimedJob, DownloadProgress, DueWorkspace, JobKind, JobLease, JobQueue, Priority,
    WorkspaceLimit, workspace_text,
};
use crate::sql::{Database, Row, statements, values};
use crate::{Error, Store, Tx};

/// The workspaces with pending jobs in queue $1, found by one index step each.
macro_rules! pending_workspaces {
    ($select:expr) => {
        concat!(
            "WITH RECURSIVE waiting (workspace_id) AS (
                SELECT min(workspace_id) FROM job WHERE queue = $1 AND state = 'pending'
                UNION ALL
                SELECT (SELECT min(j.workspace_id) FROM job j
                    WHERE j.queue = $1 AND j.state = 'pending' AND j.workspace_id > waiting.workspace_id)
                FROM waiting WHERE waiting.workspace_id IS NOT NULL) ",
            $select,
            " FROM waiting WHERE waiting.workspace_id IS NOT NULL"
        )
    };
}

/// Whether the workspace has a job of this rank that is claimable at $2.
macro_rules! is_due {
    ($rank:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM job d WHERE d.queue = $1 AND d.workspace_id = waiting.workspace_id AND d.priority = ",
            $rank,
            " AND d.state = 'pending' AND d.run_at <= $2 AND (d.leased_until IS NULL OR d.leased_until <= $2))"
        )
    };
}

/// When the next job of this rank in the workspace becomes due after $2.
macro_rules! next_due {
    ($rank:literal) => {
        concat!(
            "(SELECT min(d.run_at) FROM job d WHERE d.queue = $1 AND d.workspace_id = waiting.workspace_id AND d.priority = ",
            $rank,
            " AND d.state = 'pending' AND d.run_at > $2)"
        )
    };
}

statements! {
    DUE_WORKSPACES = pending_workspaces!(concat!(
        "SELECT workspace_id, CAST(CASE WHEN ", is_due!(0), " THEN 0 WHEN ", is_due!(1), " THEN 1 WHEN ", is_due!(2),
        " THEN 2 END AS BIGINT) AS priority"
    ));
    /// One workspace and one rank at a time: so the index returns due jobs without scanning those that are
    /// not due.
    CLAIM = "UPDATE job SET lease_owner = $1, leased_until = $2, attempt = attempt + 1
        WHERE id IN (
            SELECT id FROM job
            WHERE queue = $3 AND workspace_id = $4 AND priority = $5 AND state = 'pending' AND run_at <= $6
            AND (leased_until IS NULL OR leased_until <= $6)
            ORDER BY run_at, id LIMIT $7)
        RETURNING id, kind, payload, attempt, run_at, created_at, progress",
        // Skips rows that another worker is claiming. An array is evaluated once; a list may be evaluated
        // for every row, and then locks more than its limit.
        postgres: "UPDATE job SET lease_owner = $1, leased_until = $2, attempt = attempt + 1
        WHERE id = ANY (ARRAY (
            SELECT id FROM job
            WHERE queue = $3 AND workspace_id = $4 AND priority = $5 AND state = 'pending' AND run_at <= $6
            AND (leased_until IS NULL OR leased_until <= $6)
            ORDER BY run_at, id LIMIT $7 FOR UPDATE SKIP LOCKED))
        RETURNING id, kind, payload, attempt, run_at, created_at, progress";
    /// Without a lease: a job of an unknown kind cannot be leased.
    FAIL_UNREADABLE = "UPDATE job SET state = 'failed', note = $2, finished_at = $3, lease_owner = NULL, leased_until = NULL
        WHERE id = $1";
    /// $1 is a JSON array of leases, each an array of id, owner and attempt. One statement locks the many
    /// rows for a short time only.
    RENEW = "UPDATE job SET leased_until = $2 FROM json_each($1) AS held
        WHERE job.id = held.value ->> 0 AND job.lease_owner = held.value ->> 1 AND job.attempt = held.value ->> 2
        RETURNING id, attempt",
        postgres: "UPDATE job SET leased_until = $2
        FROM (SELECT value ->> 0 AS id, value ->> 1 AS owner, CAST(value ->> 2 AS BIGINT) AS attempt
            FROM jsonb_array_elements(CAST(CAST($1 AS TEXT) AS JSONB)) AS value) AS held
        WHERE job.id = held.id AND job.lease_owner = held.owner AND job.attempt = held.attempt
        RETURNING job.id AS id, job.attempt AS attempt";
    NEXT_DUE = pending_workspaces!(concat!("SELECT ", next_due!(0), " AS high, ", next_due!(1), " AS normal, ", next_due!(2), " AS low"));
    NEXT_LEASE_END = "SELECT min(leased_until) AS at FROM job WHERE leased_until > $2 AND queue = $1";
    RELEASE_LEASES = "UPDATE job SET lease_owner = NULL, leased_until = NULL WHERE leased_until IS NOT NULL";
}

impl Store {
    /// The workspaces with claimable jobs of this queue, ordered by id. `None`, for jobs of no workspace, is
    /// first.
    pub async fn job_workspaces_due(
        &self,
        queue: JobQueue,
        now: Timestamp,
    ) -> Result<Vec<DueWorkspace>, Error> {
        let rows = self.reader().await?.all(DUE_WORKSPACES, values![queue.as_str(), now]).await?;
        rows.iter().filter_map(|row| due_workspace(row).transpose()).collect()
    }

    /// Claims due jobs: of each workspace as many as its limit, ordered by priority, time and id. No two
    /// workers claim the same job while its lease lasts.
    ///
    /// A job of an unknown kind fails and does not affect other jobs.
    pub async fn claim_jobs(&self, claim: ClaimJobs) -> Result<Vec<ClaimedJob>, Error> {
        self.write_read_committed(async move |tx: &mut Tx| tx.claim_jobs(&claim).await).await
    }

    /// Renews the leases of jobs until `lease_until`. Returns the leases that are still valid; the others
    /// have ended, and another worker may have claimed their jobs.
    pub async fn renew_jobs(
        &self,
        leases: Vec<JobLease>,
        lease_until: Timestamp,
    ) -> Result<Vec<JobLease>, Error> {
        let sent: Vec<_> = leases
            .iter()
            .map(|lease| (lease.id.to_string(), lease.owner.to_string(), lease.attempt))
            .collect();
        let sent = serde_json::to_string(&sent).map_err(Error::internal)?;
        let renewed: Vec<(JobId, u32)> = self
            .write_read_committed(async move |tx: &mut Tx| {
                let rows = tx.session.execute_returning(RENEW, values![sent.as_str(), lease_until]).await?;
                rows.iter().map(|row| Ok((row.id("id")?, row.number("attempt")?))).collect()
            })
            .await?;
        let held: HashSet<_> = renewed.into_iter().collect();
        Ok(leases.into_iter().filter(|lease| held.contains(&(lease.id, lease.attempt))).collect())
    }

    /// When the next job of this queue can be claimed, from the present state; not later than now when one
    /// is claimable already.
    pub async fn next_job_due(&self, queue: JobQueue) -> Result<Option<Timestamp>, Error> {
        let now = self.shared().clock.now();
        let mut snapshot = self.snapshot().await?;
        let due = snapshot.all(DUE_WORKSPACES, values![queue.as_str(), now]).await?;
        if due.iter().any(|row| row.int_or_none("priority").is_ok_and(|priority| priority.is_some())) {
            return Ok(Some(now));
        }
        let lease_end = snapshot.first(NEXT_LEASE_END, values![queue.as_str(), now]).await?;
        let mut times = vec![read_time(lease_end)?];
        for row in snapshot.all(NEXT_DUE, values![queue.as_str(), now]).await? {
            times.extend([row.time_or_none("high")?, row.time_or_none("normal")?, row.time_or_none("low")?]);
        }
        Ok(times.into_iter().flatten().min())
    }

    /// Whether a worker leases a job of this queue.
    pub async fn is_job_leased(&self, queue: JobQueue) -> Result<bool, Error> {
        let now = self.shared().clock.now();
        let lease_end = self.reader().await?.first(NEXT_LEASE_END, values![queue.as_str(), now]).await?;
        Ok(read_time(lease_end)?.is_some())
    }

    /// Releases all leases of jobs and deliveries. For the one `serve` of a folder, at its start: the
    /// workers that held them have ended. On PostgreSQL other workers may be alive, so it does nothing
    /// there; leases of dead workers expire.
    pub async fn release_leases(&self) -> Result<(), Error> {
        if matches!(self.database(), Database::Postgres(_)) {
            return Ok(());
        }
        self.write(async |tx: &mut Tx| {
            tx.signals.jobs = true;
            tx.session.execute(RELEASE_LEASES, values![]).await?;
            tx.release_delivery_leases().await
        })
        .await
    }
}

impl Tx {
    async fn claim_jobs(&mut self, claim: &ClaimJobs) -> Result<Vec<ClaimedJob>, Error> {
        let mut claimed = Vec::new();
        for workspace_limit in &claim.workspace_limits {
            claimed.append(&mut self.claim_workspace_jobs(claim, *workspace_limit).await?);
        }
        Ok(claimed)
    }

    async fn claim_workspace_jobs(
        &mut self,
        claim: &ClaimJobs,
        workspace_limit: WorkspaceLimit,
    ) -> Result<Vec<ClaimedJob>, Error> {
        let mut claimed = Vec::new();
        for priority in Priority::ALL {
            let remaining =
                i64::from(workspace_limit.limit) - i64::try_from(claimed.len()).unwrap_or(i64::MAX);
            if remaining <= 0 {
                break;
            }
            let values = values![
                claim.owner,
                claim.lease_until,
                claim.queue.as_str(),
                workspace_text(workspace_limit.workspace),
                priority.rank(),
                claim.now,
                remaining
            ];
            let mut jobs = Vec::new();
            for row in self.session.execute_returning(CLAIM, values).await? {
                let id: JobId = row.id("id")?;
                match read(&row, id, claim, workspace_limit.workspace, priority) {
                    Ok(job) => jobs.push(job),
                    Err(error) => self.fail_unreadable(id, claim.now, &error).await?,
                }
            }
            jobs.sort_by_key(|job| (job.run_at, job.id));
            claimed.append(&mut jobs);
        }
        Ok(claimed)
    }

    async fn fail_unreadable(&mut self, id: JobId, now: Timestamp, error: &Error) -> Result<(), Error> {
        let note = match error {
            Error::Internal { source } => source.to_string(),
            other => other.to_string(),
        };
        tracing::error!(job.id = %id, note, "a job cannot be read and has failed");
        self.session.execute(FAIL_UNREADABLE, values![id, note, now]).await.map(drop)
    }
}

fn read(
    row: &Row,
    id: JobId,
    claim: &ClaimJobs,
    workspace: Option<WorkspaceId>,
    priority: Priority,
) -> Result<ClaimedJob, Error> {
    Ok(ClaimedJob {
        id,
        kind: JobKind::read(&row.text("kind")?, &row.text("payload")?)?,
        workspace,
        attempt: row.number("attempt")?,
        owner: claim.owner,
        created_at: row.time("created_at")?,
        run_at: row.time("run_at")?,
        priority,
        progress: row.text_or_none("progress")?.and_then(|json| DownloadProgress::from_json(&json)),
    })
}

/// `None` when nothing is claimable.
fn due_workspace(row: &Row) -> Result<Option<DueWorkspace>, Error> {
    let Some(rank) = row.int_or_none("priority")? else { return Ok(None) };
    let priority = Priority::ALL.into_iter().find(|priority| priority.rank() == rank);
    let workspace = if row.text("workspace_id")?.is_empty() { None } else { Some(row.id("workspace_id")?) };
    Ok(priority.map(|priority| DueWorkspace { workspace, priority }))
}

fn read_time(row: Option<Row>) -> Result<Option<Timestamp>, Error> {
    row.map(|row| row.time_or_none("at")).transpose().map(Option::flatten)
}
