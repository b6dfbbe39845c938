//! The two ends of a media's life: what is written together, whoever asks for it.

use kinora_domain::{Event, Media, Timestamp};

use crate::{Error, JobKind, NewJob, Tx};

impl Tx {
    /// Registers a media that is to be fetched: its rows, its event, and the job that fetches it.
    pub async fn register_media(
        &mut self,
        media: &Media,
        created: &Event,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.insert_media(media).await?;
        self.push_event(created).await?;
        self.enqueue(NewJob::soon(JobKind::Download { media: media.id }, now)).await?;
        Ok(())
    }

    /// Removes a media: its rows, with the event that says so, the job that fetches it, and a new one that removes its objects.
    ///
    /// A worker that is fetching it loses its lease with the job, and stops when it next renews.
    pub async fn remove_media(&mut self, media: Media, now: Timestamp) -> Result<(), Error> {
        let source = media.source();
        self.delete_media(media.id).await?;
        self.drop_job(JobKind::Download { media: media.id }).await?;
        self.push_event(&media.delete(now)).await?;
        if let Some(source) = source {
            self.enqueue(NewJob::soon(JobKind::DeleteObjects { source }, now)).await?;
        }
        Ok(())
    }
}
