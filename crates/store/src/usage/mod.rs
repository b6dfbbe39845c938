//! Usage of workspaces: minutes encoded, minutes and bytes delivered, bytes stored; one row per day.
//!
//! Usage is measured, and no media depends on it. Counts in memory are added to the rows periodically. A
//! killed process loses its counts since the last write. The sweep measures the stored bytes.

mod counters;

use kinora_domain::{Day, PresentationId, SourceId, Timestamp, WorkspaceId};

use crate::sql::{Row, statements, values};
use crate::{Error, Store, Tx, WorkerId};

pub(crate) use counters::UsageCounters;

/// Rows of one transaction: other writes wait meanwhile.
const BATCH_MAX: usize = 500;

statements! {
    /// Returns no row if this number was written already.
    BEGIN_WRITING = "INSERT INTO usage_writer (id, number, written_at) VALUES ($1, $2, $3)
        ON CONFLICT (id) DO UPDATE SET number = excluded.number, written_at = excluded.written_at
        WHERE usage_writer.number < excluded.number";
    /// A workspace that was deleted meanwhile has no usage.
    ADD = "INSERT INTO usage_day (workspace_id, day, encoded_us, delivered_us, delivered_bytes)
        SELECT id, CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS BIGINT) FROM workspace WHERE id = $1
        ON CONFLICT (workspace_id, day) DO UPDATE SET encoded_us = usage_day.encoded_us + excluded.encoded_us,
        delivered_us = usage_day.delivered_us + excluded.delivered_us,
        delivered_bytes = usage_day.delivered_bytes + excluded.delivered_bytes";
    /// An older measurement changes nothing.
    SET_STORED = "INSERT INTO usage_day (workspace_id, day, stored_bytes, stored_at)
        SELECT id, CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS BIGINT) FROM workspace WHERE id = $1
        ON CONFLICT (workspace_id, day) DO UPDATE SET stored_bytes = excluded.stored_bytes, stored_at = excluded.stored_at
        WHERE usage_day.stored_at IS NULL OR usage_day.stored_at <= excluded.stored_at";
    OF_DAYS = "SELECT day, encoded_us, delivered_us, delivered_bytes, stored_bytes FROM usage_day
        WHERE workspace_id = $1 AND day >= $2 AND day <= $3 ORDER BY day";
    STORED_BEFORE = "SELECT stored_bytes, stored_at FROM usage_day
        WHERE workspace_id = $1 AND day < $2 AND stored_at IS NOT NULL ORDER BY day DESC LIMIT 1";
    STORED = "SELECT stored_bytes, stored_at FROM usage_day
        WHERE workspace_id = $1 AND stored_at IS NOT NULL ORDER BY day DESC LIMIT 1";
    /// The owner of the objects of a source, in one read: an upload hands them over to a media.
    WORKSPACE_OF_SOURCE = "SELECT workspace_id FROM upload WHERE source_id = $1 AND holds_source = 1
        UNION ALL SELECT workspace_id FROM media WHERE source_id = $1
        UNION ALL SELECT m.workspace_id FROM added_track a JOIN media m ON m.id = a.media_id WHERE a.source_id = $1
        UNION ALL SELECT m.workspace_id FROM source_use s JOIN media m ON m.id = s.media_id WHERE s.source_id = $1
        LIMIT 1";
    /// Bytes of multipart uploads, which are no objects yet. The first condition on the state selects the
    /// index.
    MULTIPART_BYTES = "SELECT CAST(COALESCE(SUM(p.len), 0) AS BIGINT) AS bytes FROM upload u JOIN upload_part p ON p.upload_id = u.id
        WHERE u.workspace_id = $1 AND u.state <> 'completed' AND u.state IN ('waiting', 'uploading')";
}

/// Counts of usage, which can be added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageCounts {
    /// Length of the segments that were encoded and stored, in microseconds.
    pub encoded_us: u64,
    /// Length of the media sent to viewers, in microseconds.
    pub delivered_us: u64,
    /// Bytes that were sent to viewers.
    pub delivered_bytes: u64,
}

/// Counts that were just written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenUsage {
    /// Their sum.
    pub used: UsageCounts,
    /// Whether an earlier call had tried to write them. Then later counts are still unwritten.
    pub is_retry: bool,
}

/// The usage of a workspace on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyUsage {
    /// The day.
    pub day: Day,
    /// The usage of that day.
    pub used: UsageCounts,
    /// The stored bytes at the last measurement of the day; `None` without one.
    pub stored_bytes: Option<u64>,
}

/// The stored bytes of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredBytes {
    /// The number of bytes.
    pub bytes: u64,
    /// When it was measured.
    pub at: Timestamp,
}

/// The written usage of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Usage by day; a day without counts may be missing.
    pub days: Vec<DailyUsage>,
    /// The last measurement before the first of these days.
    pub stored_before: Option<StoredBytes>,
    /// The last measurement of all days.
    pub stored: Option<StoredBytes>,
}

impl UsageCounts {
    /// Adds further usage.
    pub fn add(&mut self, more: Self) {
        self.encoded_us = self.encoded_us.saturating_add(more.encoded_us);
        self.delivered_us = self.delivered_us.saturating_add(more.delivered_us);
        self.delivered_bytes = self.delivered_bytes.saturating_add(more.delivered_bytes);
    }
}

impl Store {
    /// Counts usage of a workspace in memory. Cheap, and writes nothing.
    pub fn count_usage(&self, workspace: WorkspaceId, now: Timestamp, used: UsageCounts) {
        self.usage_counters().count(workspace, now, used);
    }

    /// Adds the counts to the rows, in small commits: usually one, more after the database was unreachable
    /// for long. `None` without counts.
    ///
    /// After an error the next call retries the rest. If a commit succeeded in spite of its error, nothing
    /// is added twice.
    pub async fn write_usage(&self, now: Timestamp) -> Result<Option<WrittenUsage>, Error> {
        let counters = self.usage_counters();
        let mut queue = counters.queue.lock().await;
        let is_retry = !queue.remaining.is_empty();
        if !is_retry {
            queue.remaining = counters.drain().into();
            queue.number += 1;
        }
        if queue.remaining.is_empty() {
            return Ok(None);
        }
        while !queue.remaining.is_empty() {
            let rows: Vec<_> = queue.remaining.iter().take(BATCH_MAX).copied().collect();
            self.write_batch(counters.writer, queue.number, rows.clone(), now).await?;
            queue.remaining.drain(..rows.len());
            queue.number += 1;
            rows.iter().for_each(|(_, _, more)| queue.written.add(*more));
        }
        Ok(Some(WrittenUsage { used: std::mem::take(&mut queue.written), is_retry }))
    }

    /// Adds rows under a number that this writer has not written yet; otherwise does nothing.
    async fn write_batch(
        &self,
        writer: WorkerId,
        number: i64,
        rows: Vec<(WorkspaceId, Day, UsageCounts)>,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.write_read_committed(async move |tx: &mut Tx| {
            if tx.session.execute(BEGIN_WRITING, values![writer, number, now]).await? == 0 {
                return Ok(()); // the answer to an earlier try was lost
            }
            for (workspace, day, used) in &rows {
                let sums = [used.encoded_us, used.delivered_us, used.delivered_bytes].map(saturated_i64);
                let [encoded_us, delivered_us, delivered_bytes] = sums;
                let values = values![*workspace, day.to_string(), encoded_us, delivered_us, delivered_bytes];
                tx.session.execute(ADD, values).await?;
            }
            Ok::<_, Error>(())
        })
        .await
    }

    /// The usage of a workspace from the first of these days to the last.
    pub async fn usage(&self, workspace: WorkspaceId, first: Day, last: Day) -> Result<Usage, Error> {
        let mut snapshot = self.snapshot().await?;
        let (first, last) = (first.to_string(), last.to_string());
        let days = snapshot.all(OF_DAYS, values![workspace, first.as_str(), last]).await?;
        let stored_before = snapshot.first(STORED_BEFORE, values![workspace, first]).await?;
        let stored = snapshot.first(STORED, values![workspace]).await?;
        Ok(Usage {
            days: days.iter().map(read).collect::<Result<_, _>>()?,
            stored_before: stored_before.as_ref().map(read_stored).transpose()?,
            stored: stored.as_ref().map(read_stored).transpose()?,
        })
    }

    /// Records the stored bytes of workspaces at an instant, in small transactions. May run twice.
    pub async fn set_stored_bytes(&self, stored: &[(WorkspaceId, u64)], at: Timestamp) -> Result<(), Error> {
        let day = Day::of(at).to_string();
        for chunk in stored.chunks(BATCH_MAX) {
            let (some, day) = (chunk.to_vec(), day.clone());
            self.write_read_committed(async move |tx: &mut Tx| {
                for (workspace, bytes) in &some {
                    let values = values![*workspace, day.as_str(), saturated_i64(*bytes), at];
                    tx.session.execute(SET_STORED, values).await?;
                }
                Ok::<_, Error>(())
            })
            .await?;
        }
        Ok(())
    }

    /// The workspace that owns the objects of a source; `None` if no row references it.
    pub async fn workspace_of_source(&self, source: SourceId) -> Result<Option<WorkspaceId>, Error> {
        let row = self.reader().await?.first(WORKSPACE_OF_SOURCE, values![source]).await?;
        row.map(|row| row.id("workspace_id")).transpose()
    }

    /// The workspace that owns the objects of a presentation; `None` if no row references it.
    pub async fn workspace_of_presentation(
        &self,
        presentation: PresentationId,
    ) -> Result<Option<WorkspaceId>, Error> {
        self.workspace_of_source(presentation.whole_source()).await
    }

    /// Stored bytes of the running uploads of a workspace that are no object yet.
    pub async fn multipart_upload_bytes(&self, workspace: WorkspaceId) -> Result<u64, Error> {
        let row = self.reader().await?.first(MULTIPART_BYTES, values![workspace]).await?;
        row.map_or(Ok(0), |row| row.number("bytes"))
    }
}

impl Tx {
    /// The workspace that owns the objects of a source; `None` if no row references it.
    pub async fn workspace_of_source(&mut self, source: SourceId) -> Result<Option<WorkspaceId>, Error> {
        let row = self.session.first(WORKSPACE_OF_SOURCE, values![source]).await?;
        row.map(|row| row.id("workspace_id")).transpose()
    }

    /// The workspace that owns the objects of a presentation; `None` if no row references it.
    pub async fn workspace_of_presentation(
        &mut self,
        presentation: PresentationId,
    ) -> Result<Option<WorkspaceId>, Error> {
        self.workspace_of_source(presentation.whole_source()).await
    }
}

/// A number as the database stores it.
fn saturated_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn read(row: &Row) -> Result<DailyUsage, Error> {
    Ok(DailyUsage {
        day: row.parsed("day", Day::from_text)?,
        used: UsageCounts {
            encoded_us: row.number("encoded_us")?,
            delivered_us: row.number("delivered_us")?,
            delivered_bytes: row.number("delivered_bytes")?,
        },
        stored_bytes: row.number_or_none("stored_bytes")?,
    })
}

fn read_stored(row: &Row) -> Result<StoredBytes, Error> {
    Ok(StoredBytes { bytes: row.number("stored_bytes")?, at: row.time("stored_at")? })
}
