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
    /// Whether an edited media has bytes of this source.
    pub async fn is_used_source(&self, source: SourceId) -> Result<bool, Error> {
        Ok(self.reader().await?.first(OF_SOURCE, values![source]).await?.is_some())
    }

    /// The sources with bytes of a media besides its own, by ID.
    pub async fn used_sources(&self, media: MediaId) -> Result<Vec<SourceId>, Error> {
        let rows = self.reader().await?.all(OF_MEDIA, values![media]).await?;
        rows.iter().map(source_of).collect()
    }
}

impl Tx {
    /// The sources with bytes of a media besides its own, by ID.
    pub async fn used_sources(&mut self, media: MediaId) -> Result<Vec<SourceId>, Error> {
        self.session.all(OF_MEDIA, values![media]).await?.iter().map(source_of).collect()
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
                self.session.execute(RELEASE, values![media, source]).await?;
                self.enqueue(NewJob::due_now(JobKind::DeleteObjects { source }, workspace, now)).await?;
            }
        }
        for source in sources {
            self.session.execute(USE, values![media, *source]).await?;
        }
        Ok(())
    }
}

fn source_of(row: &Row) -> Result<SourceId, Error> {
    row.id("source_id")
}
