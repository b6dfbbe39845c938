//! What leaves again, so that a database of a busy year stays as large as one of a busy month.

use std::collections::BTreeMap;

use kinora_domain::{DISABLED_PENDING_MAX_US, Timestamp, WorkspaceId};

use crate::sql::{Statement, Value, statements, values};
use crate::{Error, Store, Tx, upload};

const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;
/// Finished jobs stay for the people who look what happened.
pub(crate) const JOBS_KEPT_US: i64 = 7 * DAY_US;
/// Finished deliveries with their attempts, and events that nobody waits for.
pub(crate) const DELIVERIES_KEPT_US: i64 = 30 * DAY_US;
/// Tokens that were taken back, behind their end: whoever verifies them gives them a minute, and a clock that
/// is set back a while again.
pub(crate) const REVOKED_TOKENS_KEPT_US: i64 = 30 * DAY_US;
/// Of a process that has written no usage for so long, which batch it wrote last. What it tries to write is
/// never that old.
pub(crate) const USAGE_WRITERS_KEPT_US: i64 = 30 * DAY_US;
/// Rows of one transaction: others wait for the writer meanwhile.
pub(crate) const BATCH_MAX: i64 = 500;
/// Transactions of one call and kind; what is left goes next time.
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
    /// Not before what they kept was removed.
    UPLOADS = "DELETE FROM upload WHERE id IN (
        SELECT id FROM upload WHERE created_at <= $1 AND state NOT IN ('waiting', 'uploading') AND holds_source = 0
        AND multipart IS NULL LIMIT $2) RETURNING workspace_id, state";
    REVOKED_TOKENS = "DELETE FROM revoked_token WHERE (workspace_id, jti) IN (
        SELECT workspace_id, jti FROM revoked_token WHERE expires_at IS NOT NULL AND expires_at <= $1 LIMIT $2)";
    USAGE_WRITERS = "DELETE FROM usage_writer WHERE id IN (
        SELECT id FROM usage_writer WHERE written_at <= $1 LIMIT $2)";
    EVENTS = "DELETE FROM event WHERE sequence IN (
        SELECT e.sequence FROM event e
        WHERE e.at <= $1 AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = e.id) LIMIT $2)";
}

/// How many rows left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Deliveries to disabled webhooks that were given up after 30 days.
    pub given_up: u64,
    /// Finished jobs.
    pub jobs: u64,
    /// Finished deliveries.
    pub deliveries: u64,
    /// Events without a delivery.
    pub events: u64,
    /// Uploads that have ended and whose addresses have expired.
    pub uploads: u64,
    /// Answers that were kept for those who ask again.
    pub answers: u64,
    /// Playback tokens that were taken back and have ended.
    pub revoked_tokens: u64,
    /// Processes that have written no usage for long.
    pub usage_writers: u64,
}

impl Store {
    /// Removes what has been kept long enough, in small transactions. May run twice, and beside anything.
    pub async fn prune(&self, now: Timestamp) -> Result<Pruned, Error> {
        let before = |kept_us: i64| now.plus_micros(-kept_us);
        Ok(Pruned {
            given_up: self.batches(GIVE_UP, values![now, before(DISABLED_PENDING_MAX_US), BATCH_MAX]).await?,
            jobs: self.batches(JOBS, values![before(JOBS_KEPT_US), BATCH_MAX]).await?,
            deliveries: self.batches(DELIVERIES, values![before(DELIVERIES_KEPT_US), BATCH_MAX]).await?,
            events: self.batches(EVENTS, values![before(DELIVERIES_KEPT_US), BATCH_MAX]).await?,
            uploads: self.upload_batches(before(upload::kept_us())).await?,
            answers: self.answer_batches(now).await?,
            revoked_tokens: self
                .batches(REVOKED_TOKENS, values![before(REVOKED_TOKENS_KEPT_US), BATCH_MAX])
                .await?,
            usage_writers: self
                .batches(USAGE_WRITERS, values![before(USAGE_WRITERS_KEPT_US), BATCH_MAX])
                .await?,
        })
    }

    /// Those that no file came of are counted out in the same commit.
    async fn upload_batches(&self, before: Timestamp) -> Result<u64, Error> {
        let mut sum = 0;
        for _ in 0..BATCHES_MAX {
            let rows = self
                .write(async move |tx: &mut Tx| {
                    let rows = tx.session.change(UPLOADS, values![before, BATCH_MAX]).await?;
                    let mut unused: BTreeMap<WorkspaceId, i64> = BTreeMap::new();
                    for row in &rows {
                        if row.text("state")? != "completed" {
                            *unused.entry(row.id("workspace_id")?).or_default() += 1;
                        }
                    }
                    for (workspace, count) in unused {
                        tx.count_uploads(workspace, -count).await?;
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

    async fn answer_batches(&self, now: Timestamp) -> Result<u64, Error> {
        let mut sum = 0;
        for _ in 0..BATCHES_MAX {
            let rows = self.write(async move |tx: &mut Tx| tx.sweep_answers(now).await).await?;
            sum += rows;
            if rows < BATCH_MAX.unsigned_abs() {
                break;
            }
        }
        Ok(sum)
    }

    async fn batches(&self, statement: Statement, values: Vec<Value>) -> Result<u64, Error> {
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
