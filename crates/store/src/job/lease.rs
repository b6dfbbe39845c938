//! Taking jobs, holding on to them, and giving them back after a crash.

use kinora_domain::{JobId, Timestamp};

use super::{ClaimJobs, ClaimedJob, JobKind, JobLease, JobQueue, Priority};
use crate::sql::{Database, Row, statements, values};
use crate::{Error, Store, Tx};

statements! {
    /// One rank at a time: so the index gives the due ones without passing over those that wait.
    CLAIM = "UPDATE job SET lease_owner = $1, leased_until = $2, attempt = attempt + 1
        WHERE id IN (
            SELECT id FROM job
            WHERE queue = $3 AND priority = $4 AND state = 'pending' AND run_at <= $5
            AND (leased_until IS NULL OR leased_until <= $5)
            ORDER BY run_at, id LIMIT $6)
        RETURNING id, kind, payload, attempt, run_at, created_at",
        // What another worker is just taking is passed over. An array is made once; a list may be made again for every row, and
        // then locks more than its limit.
        postgres: "UPDATE job SET lease_owner = $1, leased_until = $2, attempt = attempt + 1
        WHERE id = ANY (ARRAY (
            SELECT id FROM job
            WHERE queue = $3 AND priority = $4 AND state = 'pending' AND run_at <= $5
            AND (leased_until IS NULL OR leased_until <= $5)
            ORDER BY run_at, id LIMIT $6 FOR UPDATE SKIP LOCKED))
        RETURNING id, kind, payload, attempt, run_at, created_at";
    /// Without a lease: what is not known cannot be held.
    UNREADABLE = "UPDATE job SET state = 'failed', note = $2, finished_at = $3, lease_owner = NULL, leased_until = NULL
        WHERE id = $1";
    RENEW = "UPDATE job SET leased_until = $4 WHERE id = $1 AND lease_owner = $2 AND attempt = $3";
    NEXT_DUE = "SELECT min(run_at) AS at FROM job
        WHERE queue = $1 AND priority = $2 AND state = 'pending' AND run_at > $3";
    DUE = "SELECT id FROM job WHERE queue = $1 AND priority = $2 AND state = 'pending' AND run_at <= $3
        AND (leased_until IS NULL OR leased_until <= $3) LIMIT 1";
    NEXT_LEASE_END = "SELECT min(leased_until) AS at FROM job WHERE leased_until > $2 AND queue = $1";
    TAKE_BACK = "UPDATE job SET lease_owner = NULL, leased_until = NULL WHERE leased_until IS NOT NULL";
}

impl Store {
    /// Takes jobs that are due, in the order of priority, time and id. No two workers get the same one while its lease lasts.
    ///
    /// A job that this version does not know fails, and costs no other.
    pub async fn claim_jobs(&self, claim: ClaimJobs) -> Result<Vec<ClaimedJob>, Error> {
        self.write_row_by_row(async move |tx: &mut Tx| tx.claim_jobs(&claim).await).await
    }

    /// Holds on to jobs until `lease_until`. Returns those that are still held; the others are somebody else's by now.
    pub async fn renew_jobs(
        &self,
        leases: Vec<JobLease>,
        lease_until: Timestamp,
    ) -> Result<Vec<JobId>, Error> {
        self.write_row_by_row(async move |tx: &mut Tx| {
            let mut held = Vec::new();
            for lease in &leases {
                let values = values![lease.id, lease.owner, lease.attempt, lease_until];
                if tx.session.execute(RENEW, values).await? > 0 {
                    held.push(lease.id);
                }
            }
            Ok(held)
        })
        .await
    }

    /// When a job of this queue can be claimed next, as far as is known now; not later than now when one can be claimed already.
    pub async fn next_job_due(&self, queue: JobQueue) -> Result<Option<Timestamp>, Error> {
        let now = self.common().clock.now();
        let mut snapshot = self.snapshot().await?;
        let lease_end = snapshot.first(NEXT_LEASE_END, values![queue.as_str(), now]).await?;
        let mut times = vec![next(lease_end)?];
        for priority in Priority::ALL {
            let values = values![queue.as_str(), priority.rank(), now];
            if snapshot.first(DUE, values.clone()).await?.is_some() {
                return Ok(Some(now));
            }
            times.push(next(snapshot.first(NEXT_DUE, values).await?)?);
        }
        Ok(times.into_iter().flatten().min())
    }

    /// Whether a worker holds a job of this queue.
    pub async fn is_job_leased(&self, queue: JobQueue) -> Result<bool, Error> {
        let now = self.common().clock.now();
        let lease_end = self.reader().await?.first(NEXT_LEASE_END, values![queue.as_str(), now]).await?;
        Ok(next(lease_end)?.is_some())
    }

    /// Makes all leases of jobs and deliveries free at once. For the one `serve` of a folder, at its start: whoever held them is
    /// no more. On PostgreSQL other workers may be alive, so it does nothing: leases of the dead run out.
    pub async fn take_back_leases(&self) -> Result<(), Error> {
        if matches!(self.database(), Database::Postgres(_)) {
            return Ok(());
        }
        self.write(async |tx: &mut Tx| {
            tx.effects.jobs = true;
            tx.session.execute(TAKE_BACK, values![]).await?;
            tx.take_back_deliveries().await
        })
        .await
    }
}

impl Tx {
    async fn claim_jobs(&mut self, claim: &ClaimJobs) -> Result<Vec<ClaimedJob>, Error> {
        let mut claimed = Vec::new();
        for priority in Priority::ALL {
            let room = i64::from(claim.limit) - i64::try_from(claimed.len()).unwrap_or(i64::MAX);
            if room <= 0 {
                break;
            }
            let values = values![
                claim.owner,
                claim.lease_until,
                claim.queue.as_str(),
                priority.rank(),
                claim.now,
                room
            ];
            let mut rows = Vec::new();
            for row in self.session.change(CLAIM, values).await? {
                let id: JobId = row.id("id")?;
                match read(&row, id, claim, priority) {
                    Ok(job) => rows.push(job),
                    Err(error) => self.fail_unreadable(id, claim.now, &error).await?,
                }
            }
            rows.sort_by_key(|job| (job.run_at, job.id));
            claimed.append(&mut rows);
        }
        Ok(claimed)
    }

    async fn fail_unreadable(&mut self, id: JobId, now: Timestamp, error: &Error) -> Result<(), Error> {
        let note = match error {
            Error::Internal { source } => source.to_string(),
            other => other.to_string(),
        };
        tracing::error!(job.id = %id, note, "a job cannot be read and has failed");
        self.session.execute(UNREADABLE, values![id, note, now]).await.map(drop)
    }
}

fn read(row: &Row, id: JobId, claim: &ClaimJobs, priority: Priority) -> Result<ClaimedJob, Error> {
    Ok(ClaimedJob {
        id,
        kind: JobKind::read(&row.text("kind")?, &row.text("payload")?)?,
        attempt: row.number("attempt")?,
        owner: claim.owner,
        created_at: row.time("created_at")?,
        run_at: row.time("run_at")?,
        priority,
    })
}

fn next(row: Option<Row>) -> Result<Option<Timestamp>, Error> {
    row.map(|row| row.time_or_none("at")).transpose().map(Option::flatten)
}
