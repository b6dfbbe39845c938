//! The sources with bytes of an edited media. Several media may use one source: its objects are deleted with
//! the last of them (D-0131).

use kinora_domain::{MediaId, SourceId, Timestamp, WorkspaceId};

use crate::sql::{Row, statements, values};
use crate::{Error, JobKind, NewJob, Store, Tx};

statements! {
    USE = "INSERT INTO source_use (media_id, source_id) VALUES ($1, $2) ON CONFLICT (media_id, source_id) DO NOTHING";
    RELEASE = "DELETE FROM source_use WHERE media_id = $1 AND source_id = $2";
    OF_MEDIA = "SELECT source_id FROM source_use WHERE media_id = $1 ORDER BY source_id";
    OF_SOURCE = "SELECT media_id FROM source_use WHERE source_id = $1 LIMIT 1";
}

impl Store {
    /// The sources with bytes of a media besides its own, by ID.
    pub async fn used_sources(&self, media: MediaId) -> Result<Vec<SourceId>, Error> {
        self.reader().await?.all(OF_MEDIA, values![media]).await?.iter().map(source_of).collect()
    }

    /// Whether an edited media has bytes of this source.
    pub async fn is_used_source(&self, source: SourceId) -> Result<bool, Error> {
        Ok(self.reader().await?.first(OF_SOURCE, values![source]).await?.is_some())
    }
}

impl Tx {
    /// The sources with bytes of a media besides its own, by ID.
    pub async fn used_sources(&mut self, media: MediaId) -> Result<Vec<SourceId>, Error> {
        self.session.all(OF_MEDIA, values![media]).await?.iter().map(source_of).collect()
    }

    /// Adds a source to those that a media uses. The media must exist.
    pub async fn add_used_source(&mut self, media: MediaId, source: SourceId) -> Result<(), Error> {
        self.session.execute(USE, values![media, source]).await.map(drop)
    }

    /// Replaces the sources that a media uses. Queues the removal of those that it no longer uses; the job
    /// keeps what another media uses.
    pub async fn set_used_sources(
        &mut self,
        media: MediaId,
        sources: &[SourceId],
        workspace: impl Into<Option<WorkspaceId>>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let workspace = workspace.into();
        for source in self.used_sources(media).await? {
            if !sources.contains(&source) {
                self.release_source(media, source, workspace, now).await?;
            }
        }
        for source in sources {
            self.add_used_source(media, *source).await?;
        }
        Ok(())
    }

    /// Ends the use of a source by a media, and queues the removal of its objects. The job keeps what another
    /// media or a track uses.
    pub async fn release_source(
        &mut self,
        media: MediaId,
        source: SourceId,
        workspace: impl Into<Option<WorkspaceId>>,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.session.execute(RELEASE, values![media, source]).await?;
        self.enqueue(NewJob::due_now(JobKind::DeleteObjects { source }, workspace, now)).await.map(drop)
    }
}

fn source_of(row: &Row) -> Result<SourceId, Error> {
    row.id("source_id")
}
