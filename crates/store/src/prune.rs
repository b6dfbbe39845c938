//! Removes expired rows, so that a database of a busy year stays as large as one of a busy month.

use std::collections::BTreeMap;

use kinora_domain::{AuditEntry, DISABLED_PENDING_MAX_US, Session, Timestamp, WorkspaceId};

use crate::sql::{Statement, Value, statements, values};
use crate::{Error, Store, Tx, upload};

const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;
/// Finished jobs stay for people who investigate a problem.
pub(crate) const JOB_RETENTION_US: i64 = 7 * DAY_US;
/// Finished deliveries with their attempts, and events without pending deliveries.
pub(crate) const DELIVERY_RETENTION_US: i64 = 30 * DAY_US;
/// Revoked tokens, after their expiry. Verifiers allow one minute of clock skew, and clocks that are set
/// back need some more.
pub(crate) const REVOKED_TOKEN_RETENTION_US: i64 = 30 * DAY_US;
/// The number of the last usage batch of a process, since its last write. No process retries a batch that
/// is so old.
pub(crate) const USAGE_WRITER_RETENTION_US: i64 = 30 * DAY_US;
/// One-time links, after their end: the page of an old one says why it does not work.
pub(crate) const LINK_RETENTION_US: i64 = 30 * DAY_US;
/// Rows of one transaction: other writes wait meanwhile.
pub(crate) const BATCH_MAX: i64 = 500;
/// Transactions of one call and kind; the next call continues.
const BATCHES_MAX: u32 = 200;

statements! {
    /// C-9: deliveries to a disabled webhook stay pending for 30 days.
    GIVE_UP = "UPDATE delivery SET state = 'given_up', finished_at = $1, lease_owner = NULL, leased_until = NULL
        WHERE id IN (
            SELECT d.id FROM delivery d WHERE d.state = 'pending' AND d.created_at > 0 AND d.created_at <= $2
            AND EXISTS (SELECT 1 FROM webhook w WHERE w.id = d.webhook_id AND w.state = 'disabled' LIMIT 1 OFFSET 0)
            LIMIT $3)";
    JOBS = "DELETE FROM job WHERE id IN (
        SELECT id FROM job WHERE finished_at IS NOT NULL AND finished_at <= $1 LIMIT $2)";
    DELIVERIES = "DELETE FROM delivery WHERE id IN (
        SELECT id FROM delivery WHERE finished_at IS NOT NULL AND finished_at <= $1 LIMIT $2)";
    /// Only after their source and their multipart upload were released.
    UPLOADS = "DELETE FROM upload WHERE id IN (
        SELECT id FROM upload WHERE created_at <= $1 AND state NOT IN ('waiting', 'uploading') AND holds_source = 0
        AND multipart IS NULL LIMIT $2) RETURNING workspace_id, state";
    REVOKED_TOKENS = "DELETE FROM revoked_token WHERE (workspace_id, jti) IN (
        SELECT workspace_id, jti FROM revoked_token WHERE expires_at IS NOT NULL AND expires_at <= $1 LIMIT $2)";
    USAGE_WRITERS = "DELETE FROM usage_writer WHERE id IN (
        SELECT id FROM usage_writer WHERE written_at <= $1 LIMIT $2)";
    OLD_SESSIONS = "DELETE FROM session WHERE id IN (SELECT id FROM session WHERE ends_at <= $1 LIMIT $2)";
    UNUSED_SESSIONS = "DELETE FROM session WHERE id IN (SELECT id FROM session WHERE seen_at <= $1 LIMIT $2)";
    LINKS = "DELETE FROM one_time_link WHERE id IN (SELECT id FROM one_time_link WHERE ends_at <= $1 LIMIT $2)";
    AUDIT = "DELETE FROM audit WHERE sequence IN (SELECT sequence FROM audit WHERE at <= $1 LIMIT $2)";
    EVENTS = "DELETE FROM event WHERE sequence IN (
        SELECT e.sequence FROM event e
        WHERE e.at <= $1 AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = e.id) LIMIT $2)";
}

/// The numbers of removed rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrunedCounts {
    /// Deliveries to disabled webhooks that were given up after 30 days.
    pub given_up: u64,
    /// Finished jobs.
    pub jobs: u64,
    /// Finished deliveries.
    pub deliveries: u64,
    /// Events without a delivery.
    pub events: u64,
    /// Ended uploads whose URLs have expired.
    pub uploads: u64,
    /// Stored responses of idempotency keys.
    pub responses: u64,
    /// Revoked playback tokens that have expired.
    pub revoked_tokens: u64,
    /// Processes that have written no usage for long.
    pub usage_writers: u64,
    /// Sessions that have ended.
    pub sessions: u64,
    /// One-time links that ended long ago.
    pub links: u64,
    /// Rows of the audit log.
    pub audit: u64,
}

impl Store {
    /// Removes expired rows in small transactions. May run twice, and concurrently with all other work.
    pub async fn prune(&self, now: Timestamp) -> Result<PrunedCounts, Error> {
        let before = |retention_us: i64| now.plus_micros(-retention_us);
        Ok(PrunedCounts {
            given_up: self
                .run_in_batches(GIVE_UP, values![now, before(DISABLED_PENDING_MAX_US), BATCH_MAX])
                .await?,
            jobs: self.run_in_batches(JOBS, values![before(JOB_RETENTION_US), BATCH_MAX]).await?,
            deliveries: self
                .run_in_batches(DELIVERIES, values![before(DELIVERY_RETENTION_US), BATCH_MAX])
                .await?,
            events: self.run_in_batches(EVENTS, values![before(DELIVERY_RETENTION_US), BATCH_MAX]).await?,
            uploads: self.delete_uploads(before(upload::retention_us())).await?,
            responses: self.delete_responses(now).await?,
            revoked_tokens: self
                .run_in_batches(REVOKED_TOKENS, values![before(REVOKED_TOKEN_RETENTION_US), BATCH_MAX])
                .await?,
            usage_writers: self
                .run_in_batches(USAGE_WRITERS, values![before(USAGE_WRITER_RETENTION_US), BATCH_MAX])
                .await?,
            sessions: self.run_in_batches(OLD_SESSIONS, values![now, BATCH_MAX]).await?
                + self
                    .run_in_batches(UNUSED_SESSIONS, values![before(Session::IDLE_MAX_US), BATCH_MAX])
                    .await?,
            links: self.run_in_batches(LINKS, values![before(LINK_RETENTION_US), BATCH_MAX]).await?,
            audit: self.run_in_batches(AUDIT, values![before(AuditEntry::RETENTION_US), BATCH_MAX]).await?,
        })
    }

    /// Uploads without a file also leave the upload count, in the same commit.
    async fn delete_uploads(&self, before: Timestamp) -> Result<u64, Error> {
        let mut sum = 0;
        for _ in 0..BATCHES_MAX {
            let rows = self
                .write(async move |tx: &mut Tx| {
                    let rows = tx.session.execute_returning(UPLOADS, values![before, BATCH_MAX]).await?;
                    let mut unused: BTreeMap<WorkspaceId, i64> = BTreeMap::new();
                    for row in &rows {
                        if row.text("state")? != "completed" {
                            *unused.entry(row.id("workspace_id")?).or_default() += 1;
                        }
                    }
                    for (workspace, count) in unused {
                        tx.add_upload_count(workspace, -count).await?;
                    }
                    Ok::<_, Error>(rows.len() as u64)
                })
                .await?;
            sum += rows;
            if rows < BATCH_MAX.unsigned_abs() {
                break;
            }
        }
        Ok(sum)
    }

    async fn delete_responses(&self, now: Timestamp) -> Result<u64, Error> {
        let mut sum = 0;
        for _ in 0..BATCHES_MAX {
            let rows = self.write(async move |tx: &mut Tx| tx.sweep_responses(now).await).await?;
            sum += rows;
            if rows < BATCH_MAX.unsigned_abs() {
                break;
            }
        }
        Ok(sum)
    }

    async fn run_in_batches(&self, statement: Statement, values: Vec<Value>) -> Result<u64, Error> {
        let mut sum = 0;
        for _ in 0..BATCHES_MAX {
            let values = values.clone();
            let rows = self
                .write(async move |tx: &mut Tx| tx.session.execute(statement, values.clone()).await)
                .await?;
            sum += rows;
            if rows < BATCH_MAX.unsigned_abs() {
                break;
            }
        }
        Ok(sum)
    }
}
