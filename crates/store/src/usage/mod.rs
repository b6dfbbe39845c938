//! What workspaces use: minutes encoded, minutes and bytes delivered, bytes stored; a row for each day.
//!
//! A meter, no state of a media: what is counted in memory is added to the rows now and then, and a process
//! that is killed loses what it counted since. What is stored is measured by the sweep.

mod meter;

use kinora_domain::{Day, PresentationId, SourceId, Timestamp, WorkspaceId};

use crate::sql::{Row, statements, values};
use crate::{Error, Store, Tx, WorkerId};

pub(crate) use meter::Meter;

/// Rows of one transaction: others wait for the writer meanwhile.
const BATCH_MAX: usize = 500;

statements! {
    /// No row where this number was written already.
    BEGIN_WRITING = "INSERT INTO usage_writer (id, number, written_at) VALUES ($1, $2, $3)
        ON CONFLICT (id) DO UPDATE SET number = excluded.number, written_at = excluded.written_at
        WHERE usage_writer.number < excluded.number";
    ADD = "INSERT INTO usage_day (workspace_id, day, encoded_us, delivered_us, delivered_bytes) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (workspace_id, day) DO UPDATE SET encoded_us = usage_day.encoded_us + excluded.encoded_us,
        delivered_us = usage_day.delivered_us + excluded.delivered_us,
        delivered_bytes = usage_day.delivered_bytes + excluded.delivered_bytes";
    /// An older measurement changes nothing.
    SET_STORED = "INSERT INTO usage_day (workspace_id, day, stored_bytes, stored_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (workspace_id, day) DO UPDATE SET stored_bytes = excluded.stored_bytes, stored_at = excluded.stored_at
        WHERE usage_day.stored_at IS NULL OR usage_day.stored_at <= excluded.stored_at";
    OF_DAYS = "SELECT day, encoded_us, delivered_us, delivered_bytes, stored_bytes FROM usage_day
        WHERE workspace_id = $1 AND day >= $2 AND day <= $3 ORDER BY day";
    STORED_BEFORE = "SELECT stored_bytes, stored_at FROM usage_day
        WHERE workspace_id = $1 AND day < $2 AND stored_at IS NOT NULL ORDER BY day DESC LIMIT 1";
    STORED = "SELECT stored_bytes, stored_at FROM usage_day
        WHERE workspace_id = $1 AND stored_at IS NOT NULL ORDER BY day DESC LIMIT 1";
    /// Whoever holds the objects of a source, in one look: an upload hands them over to a media.
    WORKSPACE_OF_SOURCE = "SELECT workspace_id FROM upload WHERE source_id = $1 AND holds_source = 1
        UNION ALL SELECT workspace_id FROM media WHERE source_id = $1
        UNION ALL SELECT m.workspace_id FROM added_track a JOIN media m ON m.id = a.media_id WHERE a.source_id = $1
        LIMIT 1";
    /// Of uploads that come in parts, which are no objects yet. The first condition on the state names the
    /// index.
    GROWING = "SELECT CAST(COALESCE(SUM(p.len), 0) AS BIGINT) AS bytes FROM upload u JOIN upload_part p ON p.upload_id = u.id
        WHERE u.workspace_id = $1 AND u.state <> 'completed' AND u.state IN ('waiting', 'uploading')";
}

/// What was used of a workspace, so far as it adds up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Length of the segments that were encoded and kept, in microseconds.
    pub encoded_us: u64,
    /// Length of what was sent to viewers, in microseconds.
    pub delivered_us: u64,
    /// Bytes that were sent to viewers.
    pub delivered_bytes: u64,
}

/// Counts that are in the rows now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenUsage {
    /// The sum of it.
    pub used: Used,
    /// An earlier call had tried to write it: what was counted since is still to be written.
    pub was_late: bool,
}

/// What a workspace used on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageOfDay {
    /// Which day.
    pub day: Day,
    /// What was used on it.
    pub used: Used,
    /// What was stored when it was measured last on it; `None` where it was not.
    pub stored_bytes: Option<u64>,
}

/// What a workspace had stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// How much.
    pub bytes: u64,
    /// When it was measured.
    pub at: Timestamp,
}

/// What a workspace used, as far as it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Day by day; one on which nothing was counted may be missing.
    pub days: Vec<UsageOfDay>,
    /// What was stored when it was measured last before the first of these days.
    pub stored_before: Option<Stored>,
    /// The same of all days.
    pub stored: Option<Stored>,
}

impl Used {
    /// Adds more of it.
    pub fn add(&mut self, more: Self) {
        self.encoded_us = self.encoded_us.saturating_add(more.encoded_us);
        self.delivered_us = self.delivered_us.saturating_add(more.delivered_us);
        self.delivered_bytes = self.delivered_bytes.saturating_add(more.delivered_bytes);
    }
}

impl Store {
    /// Counts in memory what is used of a workspace now. Costs next to nothing, and writes nothing.
    pub fn count_usage(&self, workspace: WorkspaceId, now: Timestamp, used: Used) {
        self.meter().count(workspace, now, used);
    }

    /// Adds what was counted to the rows, in small commits: mostly one, more after the database was away for
    /// long. `None` where nothing was.
    ///
    /// After an error the rest is tried again by the next call; if a commit took place all the same, then
    /// nothing is added twice.
    pub async fn write_usage(&self, now: Timestamp) -> Result<Option<WrittenUsage>, Error> {
        let meter = self.meter();
        let mut queue = meter.writing.lock().await;
        let was_late = !queue.used.is_empty();
        if !was_late {
            queue.used = meter.take().into();
            queue.number += 1;
        }
        if queue.used.is_empty() {
            return Ok(None);
        }
        while !queue.used.is_empty() {
            let rows: Vec<_> = queue.used.iter().take(BATCH_MAX).copied().collect();
            self.write_batch(meter.writer, queue.number, rows.clone(), now).await?;
            queue.used.drain(..rows.len());
            queue.number += 1;
            rows.iter().for_each(|(_, _, more)| queue.written.add(*more));
        }
        Ok(Some(WrittenUsage { used: std::mem::take(&mut queue.written), was_late }))
    }

    /// Adds rows under a number that this writer has not written yet; under one that it has, nothing.
    async fn write_batch(
        &self,
        writer: WorkerId,
        number: i64,
        rows: Vec<(WorkspaceId, Day, Used)>,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.write_row_by_row(async move |tx: &mut Tx| {
            if tx.session.execute(BEGIN_WRITING, values![writer, number, now]).await? == 0 {
                return Ok(()); // the answer to an earlier try was lost
            }
            for (workspace, day, used) in &rows {
                let sums = [used.encoded_us, used.delivered_us, used.delivered_bytes].map(count);
                let [encoded_us, delivered_us, delivered_bytes] = sums;
                let values = values![*workspace, day.to_string(), encoded_us, delivered_us, delivered_bytes];
                tx.session.execute(ADD, values).await?;
            }
            Ok::<_, Error>(())
        })
        .await
    }

    /// What a workspace used from the first of these days to the last.
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

    /// Writes down what workspaces had stored at an instant, in small transactions. May run twice.
    pub async fn set_stored(&self, stored: &[(WorkspaceId, u64)], at: Timestamp) -> Result<(), Error> {
        let day = Day::of(at).to_string();
        for some in stored.chunks(BATCH_MAX) {
            let (some, day) = (some.to_vec(), day.clone());
            self.write_row_by_row(async move |tx: &mut Tx| {
                for (workspace, bytes) in &some {
                    let values = values![*workspace, day.as_str(), count(*bytes), at];
                    tx.session.execute(SET_STORED, values).await?;
                }
                Ok::<_, Error>(())
            })
            .await?;
        }
        Ok(())
    }

    /// The workspace whose objects those of a source are; `None` where no row names it.
    pub async fn workspace_of_source(&self, source: SourceId) -> Result<Option<WorkspaceId>, Error> {
        let row = self.reader().await?.first(WORKSPACE_OF_SOURCE, values![source]).await?;
        row.map(|row| row.id("workspace_id")).transpose()
    }

    /// The workspace whose objects those of a presentation are; `None` where no row names it.
    pub async fn workspace_of_presentation(
        &self,
        presentation: PresentationId,
    ) -> Result<Option<WorkspaceId>, Error> {
        self.workspace_of_source(presentation.whole_source()).await
    }

    /// What is kept of a workspace's uploads under way that is no object yet.
    pub async fn growing_bytes(&self, workspace: WorkspaceId) -> Result<u64, Error> {
        let row = self.reader().await?.first(GROWING, values![workspace]).await?;
        row.map_or(Ok(0), |row| row.number("bytes"))
    }
}

impl Tx {
    /// The workspace whose objects those of a source are; `None` where no row names it.
    pub async fn workspace_of_source(&mut self, source: SourceId) -> Result<Option<WorkspaceId>, Error> {
        let row = self.session.first(WORKSPACE_OF_SOURCE, values![source]).await?;
        row.map(|row| row.id("workspace_id")).transpose()
    }

    /// The workspace whose objects those of a presentation are; `None` where no row names it.
    pub async fn workspace_of_presentation(
        &mut self,
        presentation: PresentationId,
    ) -> Result<Option<WorkspaceId>, Error> {
        self.workspace_of_source(presentation.whole_source()).await
    }
}

/// A number as the database has it.
fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn read(row: &Row) -> Result<UsageOfDay, Error> {
    Ok(UsageOfDay {
        day: row.word("day", Day::from_text)?,
        used: Used {
            encoded_us: row.number("encoded_us")?,
            delivered_us: row.number("delivered_us")?,
            delivered_bytes: row.number("delivered_bytes")?,
        },
        stored_bytes: row.number_or_none("stored_bytes")?,
    })
}

fn read_stored(row: &Row) -> Result<Stored, Error> {
    Ok(Stored { bytes: row.number("stored_bytes")?, at: row.time("stored_at")? })
}
