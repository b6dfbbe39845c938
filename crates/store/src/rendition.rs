//! Encoded renditions with at least one object: their size, and when they were last watched.
//!
//! A row is written before the first object of its rendition, so objects without a row may be swept.
//! Counters are written periodically and may lag. They decide the order of eviction, never the served
//! segments.

use kinora_domain::{PresentationId, RenditionId, Timestamp};

use crate::sql::{Row, statements, values};
use crate::{Error, Store, Tx};

statements! {
    /// The presentation of a media without edits has the ID of its source (D-0123). The row is inserted
    /// only while a media references the source, or an upload holds it: a row that outlives both would keep
    /// its objects.
    INSERT = "INSERT INTO rendition (id, presentation_id, name, created_at)
        SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT 1 FROM media WHERE source_id = $2)
        OR EXISTS (SELECT 1 FROM upload WHERE source_id = $2 AND holds_source = 1)
        OR EXISTS (SELECT 1 FROM added_track WHERE source_id = $2)
        ON CONFLICT (id) DO NOTHING", postgres: "INSERT INTO rendition (id, presentation_id, name, created_at)
        SELECT $1::text, $2::text, $3::text, $4::bigint WHERE EXISTS (SELECT 1 FROM media WHERE source_id = $2::text)
        OR EXISTS (SELECT 1 FROM upload WHERE source_id = $2::text AND holds_source = 1)
        OR EXISTS (SELECT 1 FROM added_track WHERE source_id = $2::text)
        ON CONFLICT (id) DO NOTHING";
    /// A name of a source has one row. Inserted only while a media references the source.
    INSERT_NAMED = "INSERT INTO rendition (id, presentation_id, name, created_at)
        SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT 1 FROM media WHERE source_id = $2)
        ON CONFLICT (presentation_id, name) DO NOTHING", postgres: "INSERT INTO rendition (id, presentation_id, name, created_at)
        SELECT $1::text, $2::text, $3::text, $4::bigint WHERE EXISTS (SELECT 1 FROM media WHERE source_id = $2::text)
        ON CONFLICT (presentation_id, name) DO NOTHING";
    BY_NAME = "SELECT id, presentation_id, name, bytes, segments, watched_at, broken_at, created_at
        FROM rendition WHERE presentation_id = $1 AND name = $2";
    DELETE_BROKEN = "DELETE FROM rendition WHERE presentation_id = $1 AND name = $2 AND broken_at IS NOT NULL";
    BY_ID = "SELECT id, presentation_id, name, bytes, segments, watched_at, broken_at, created_at FROM rendition WHERE id = $1";
    OF_PRESENTATION = "SELECT id, presentation_id, name, bytes, segments, watched_at, broken_at, created_at
        FROM rendition WHERE presentation_id = $1 ORDER BY name";
    BY_WATCH = "SELECT id, presentation_id, name, bytes, segments, watched_at, broken_at, created_at
        FROM rendition WHERE (watched_at, id) > ($1, $2) ORDER BY watched_at, id LIMIT $3";
    /// Without renditions of downloadable files: the LRU does not evict those, and they would push out all
    /// others.
    BYTES = "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM rendition WHERE watched_at >= $1 AND name NOT LIKE '% whole'";
    WITHOUT_MEDIA = "SELECT id, presentation_id, name, bytes, segments, watched_at, broken_at, created_at
        FROM rendition r WHERE id > $1 AND NOT EXISTS (SELECT 1 FROM media m WHERE m.source_id = r.presentation_id)
        AND NOT EXISTS (SELECT 1 FROM upload u WHERE u.source_id = r.presentation_id AND u.holds_source = 1)
        AND NOT EXISTS (SELECT 1 FROM added_track a WHERE a.source_id = r.presentation_id)
        ORDER BY id LIMIT $2";
    /// Two processes may write at once, in any order.
    ADD_USAGE = "UPDATE rendition SET bytes = bytes + $2, segments = segments + $3,
        watched_at = CASE WHEN watched_at < $4 THEN $4 ELSE watched_at END WHERE id = $1";
    RESET = "UPDATE rendition SET bytes = 0, segments = 0 WHERE id = $1";
    SET_COUNTS = "UPDATE rendition SET bytes = $2, segments = $3 WHERE id = $1";
    SET_BROKEN = "UPDATE rendition SET broken_at = $2 WHERE id = $1 AND broken_at IS NULL";
    DELETE = "DELETE FROM rendition WHERE id = $1";
}

/// An encoded rendition with at least one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenditionRow {
    /// Derived from the presentation, the name and the encoder settings.
    pub id: RenditionId,
    /// The presentation that it is encoded from.
    pub presentation: PresentationId,
    /// Its name in URLs: `720p`, `aac`.
    pub name: String,
    /// Bytes of its segments, as far as counted.
    pub bytes: u64,
    /// The number of its segments, as far as counted.
    pub segments: u64,
    /// When it was last watched.
    pub watched_at: Option<Timestamp>,
    /// Since when it cannot be encoded.
    pub broken_at: Option<Timestamp>,
    /// When its row was written, before its first object.
    pub created_at: Timestamp,
}

/// The use of a rendition since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenditionUsage {
    /// The rendition.
    pub id: RenditionId,
    /// Bytes of the new segments.
    pub bytes: u64,
    /// The number of the new segments.
    pub segments: u64,
    /// When it was last watched; `None` if it was not.
    pub watched_at: Option<Timestamp>,
}

/// A position in the list of all renditions, from never watched to latest watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RenditionCursor(i64, Option<RenditionId>);

impl RenditionCursor {
    /// Before all renditions.
    pub const START: Self = Self(-1, None);

    /// Before those that were watched at this instant or later.
    pub fn before_watched_at(at: Timestamp) -> Self {
        Self(at.as_micros().max(1), None)
    }
}

/// The end of the name of a rendition that is joined to one object, for files.
const FILE_SUFFIX: &str = " whole";

impl RenditionRow {
    /// The name of the rendition that is joined to this one object, for files; `None` if it has segments.
    pub fn joined_name(&self) -> Option<&str> {
        self.name.strip_suffix(FILE_SUFFIX)
    }

    /// The position after this rendition.
    pub fn cursor(&self) -> RenditionCursor {
        RenditionCursor(self.watched_at.map_or(0, Timestamp::as_micros), Some(self.id))
    }
}

impl Store {
    /// One rendition.
    pub async fn rendition(&self, id: RenditionId) -> Result<Option<RenditionRow>, Error> {
        self.reader().await?.first(BY_ID, values![id]).await?.as_ref().map(read).transpose()
    }

    /// The rendition of a presentation with this name.
    pub async fn rendition_named(
        &self,
        presentation: PresentationId,
        name: &str,
    ) -> Result<Option<RenditionRow>, Error> {
        self.reader().await?.first(BY_NAME, values![presentation, name]).await?.as_ref().map(read).transpose()
    }

    /// The renditions of a presentation, by name.
    pub async fn renditions_of(&self, presentation: PresentationId) -> Result<Vec<RenditionRow>, Error> {
        self.reader().await?.all(OF_PRESENTATION, values![presentation]).await?.iter().map(read).collect()
    }

    /// A page of all renditions after `after`, `limit` at most: those that were never watched, then the
    /// others, longest unwatched first.
    pub async fn renditions_by_watched_at(
        &self,
        after: RenditionCursor,
        limit: u32,
    ) -> Result<Vec<RenditionRow>, Error> {
        let values = values![after.0, id_or_first(after.1), limit];
        self.reader().await?.all(BY_WATCH, values).await?.iter().map(read).collect()
    }

    /// Bytes of all renditions, or of those that were watched at this instant or later.
    pub async fn rendition_bytes(&self, watched_since: Option<Timestamp>) -> Result<u64, Error> {
        let since = watched_since.map_or(0, Timestamp::as_micros);
        let row = self.reader().await?.first(BYTES, values![since]).await?;
        row.map_or(Ok(0), |row| row.number("bytes"))
    }

    /// A page of the renditions after `after` whose presentation no media references, by id.
    pub async fn renditions_without_media(
        &self,
        after: Option<RenditionId>,
        limit: u32,
    ) -> Result<Vec<RenditionRow>, Error> {
        let values = values![id_or_first(after), limit];
        self.reader().await?.all(WITHOUT_MEDIA, values).await?.iter().map(read).collect()
    }
}

/// A text that sorts before all ids, or the id.
fn id_or_first(id: Option<RenditionId>) -> String {
    id.map(|id| id.to_string()).unwrap_or_default()
}

impl Tx {
    /// Inserts the row of a rendition before its first object. Returns whether the row exists now: not
    /// without a media that references the presentation. May run twice.
    pub async fn insert_rendition(
        &mut self,
        id: RenditionId,
        presentation: PresentationId,
        name: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let inserted = self.session.execute(INSERT, values![id, presentation, name, now]).await?;
        Ok(inserted > 0 || self.session.first(BY_ID, values![id]).await?.is_some())
    }

    /// Inserts the row by name: an existing rendition that is not broken continues under its id. `None`
    /// without a media that references the presentation. May run twice.
    pub async fn begin_rendition_named(
        &mut self,
        id: RenditionId,
        presentation: PresentationId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<RenditionId>, Error> {
        self.session.execute(DELETE_BROKEN, values![presentation, name]).await?;
        self.session.execute(INSERT_NAMED, values![id, presentation, name, now]).await?;
        let row = self.session.first(BY_NAME, values![presentation, name]).await?;
        row.map(|row| row.id("id")).transpose()
    }

    /// Adds the use since the last report. Ignores renditions without a row.
    pub async fn add_rendition_usage(&mut self, uses: &[RenditionUsage]) -> Result<(), Error> {
        for RenditionUsage { id, bytes, segments, watched_at } in uses {
            let watched_at = watched_at.map_or(0, Timestamp::as_micros);
            self.session
                .execute(ADD_USAGE, values![*id, saturated_i64(*bytes), saturated_i64(*segments), watched_at])
                .await?;
        }
        Ok(())
    }

    /// Resets a rendition after its objects were removed; it may be encoded again.
    pub async fn reset_rendition(&mut self, id: RenditionId) -> Result<(), Error> {
        self.session.execute(RESET, values![id]).await.map(drop)
    }

    /// Corrects the counters of a rendition to its counted objects, after a killed process did not report
    /// them. Concurrent processes add their own segments.
    pub async fn correct_rendition_counts(
        &mut self,
        id: RenditionId,
        bytes: u64,
        segments: u64,
    ) -> Result<(), Error> {
        self.session
            .execute(SET_COUNTS, values![id, saturated_i64(bytes), saturated_i64(segments)])
            .await
            .map(drop)
    }

    /// Marks a rendition as broken; the first time counts.
    pub async fn set_rendition_broken(&mut self, id: RenditionId, now: Timestamp) -> Result<(), Error> {
        self.session.execute(SET_BROKEN, values![id, now]).await.map(drop)
    }

    /// Deletes the row of a rendition. Its objects are removed before, or swept later.
    pub async fn delete_rendition(&mut self, id: RenditionId) -> Result<(), Error> {
        self.session.execute(DELETE, values![id]).await.map(drop)
    }
}

/// A number as the database stores it.
fn saturated_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn read(row: &Row) -> Result<RenditionRow, Error> {
    let watched_at = row.time("watched_at")?;
    Ok(RenditionRow {
        id: row.id("id")?,
        presentation: row.id("presentation_id")?,
        name: row.text("name")?,
        bytes: row.number("bytes")?,
        segments: row.number("segments")?,
        watched_at: (watched_at.as_micros() > 0).then_some(watched_at),
        broken_at: row.time_or_none("broken_at")?,
        created_at: row.time("created_at")?,
    })
}
