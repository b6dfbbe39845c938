//! The ends of a media's life, and its changes between them: what is written together, whoever asks for it.

use std::sync::atomic::Ordering;

use kinora_domain::{Event, Media, MediaId, MediaState, SourceId, Timestamp, Upload};

use crate::{Error, JobKind, NewJob, Priority, Tx, UploadCancelled};

impl Tx {
    /// Registers a media that is to be fetched: its rows, its event, and the job that fetches it; the same of
    /// each track that is added to it.
    pub async fn register_media(
        &mut self,
        media: &Media,
        created: &Event,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.insert_media(media).await?;
        self.push_event(created).await?;
        self.enqueue(NewJob::soon(JobKind::Download { media: media.id }, media.workspace, now)).await?;
        self.begin_tracks(media, now).await
    }

    /// Saves a media that has just become ready, with the event that says so, and what follows from that.
    pub async fn save_ready(&mut self, media: &Media, ready: &Event, now: Timestamp) -> Result<(), Error> {
        self.save_media(media).await?;
        self.push_event(ready).await?;
        self.fetch_sounds(media, now).await?;
        if let Some(opened) = media.source_opened(now) {
            self.push_event(&opened).await?;
        }
        self.hash_picture(media, now).await?;
        if media.settings.mp4_support.is_none() { Ok(()) } else { self.prepare_files(media, now).await }
    }

    /// Saves a media of which a client may want another picture than before, with the event that says so.
    /// Without one nothing is another, and nothing is written.
    pub async fn save_update(
        &mut self,
        media: &Media,
        updated: Option<&Event>,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.save_change(media, updated).await?;
        if updated.is_some() && media.blur_hash.is_none() {
            self.hash_picture(media, now).await
        } else {
            Ok(())
        }
    }

    /// Queues the BlurHash job of a ready media with a video track.
    async fn hash_picture(&mut self, media: &Media, now: Timestamp) -> Result<(), Error> {
        let MediaState::Ready { source, facts, .. } = &media.state else { return Ok(()) };
        if !facts.has_pictures() || !self.common.has_blur_hash.load(Ordering::Acquire) {
            return Ok(());
        }
        let kind = JobKind::HashPicture { media: media.id, source: *source };
        let job = NewJob { kind, workspace: Some(media.workspace), run_at: now, priority: Priority::Low };
        self.enqueue(job).await.map(drop)
    }

    /// Saves a media that has just failed, with the event that says so, and what follows from that.
    pub async fn save_failed(&mut self, media: &Media, failed: &Event, now: Timestamp) -> Result<(), Error> {
        self.save_media(media).await?;
        self.push_event(failed).await?;
        self.fetch_sounds(media, now).await
    }

    /// Saves a media of which a client wants other files than before, with the event that says so; what it
    /// takes to offer them, and to say that they are there, is a job's.
    pub async fn save_files_wanted(
        &mut self,
        media: &Media,
        updated: &Event,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.save_change(media, Some(updated)).await?;
        self.prepare_files(media, now).await
    }

    /// Has the files of a ready media prepared. Whoever works on what was wanted before loses its lease: only
    /// the last wish is told.
    async fn prepare_files(&mut self, media: &Media, now: Timestamp) -> Result<(), Error> {
        let (Some(source), true) = (media.source(), media.is_ready()) else { return Ok(()) };
        self.drop_files(media.id, source).await?;
        let prepare = NewJob::soon(JobKind::PrepareFiles { media: media.id, source }, media.workspace, now);
        self.enqueue(prepare).await.map(drop)
    }

    async fn drop_files(&mut self, media: MediaId, source: SourceId) -> Result<(), Error> {
        self.drop_job(JobKind::PrepareFiles { media, source }).await?;
        self.drop_job(JobKind::EncodeFiles { media, source }).await
    }

    /// Saves a media that a client changed, with the events that say so, in their order. Without any nothing
    /// is another, and nothing is written.
    pub async fn save_told(&mut self, media: &Media, events: &[Event]) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        self.save_media(media).await?;
        for event in events {
            self.push_event(event).await?;
        }
        Ok(())
    }

    /// Saves a media that a client changed, with the event that says so. Without one nothing is another, and
    /// nothing is written.
    pub async fn save_change(&mut self, media: &Media, updated: Option<&Event>) -> Result<(), Error> {
        let Some(updated) = updated else { return Ok(()) };
        self.save_media(media).await?;
        self.push_event(updated).await.map(drop)
    }

    /// Removes a media: its rows, with the event that says so, the jobs that bring it in, and a new one that
    /// removes its objects. Of a direct upload that still runs another event says first that it is cancelled
    /// (C-7).
    ///
    /// A worker that is fetching it loses its lease with the job, and stops when it next renews.
    pub async fn remove_media(&mut self, media: Media, now: Timestamp) -> Result<(), Error> {
        let (id, workspace, source) = (media.id, media.workspace, media.source());
        if let Some(upload) = self.upload_by_id(media.id).await?.filter(Upload::holds_source) {
            self.give_up_upload(upload, now).await?;
        }
        self.drop_job(JobKind::Download { media: media.id }).await?;
        for track in &media.added {
            self.let_go_of_track(&media, track, now).await?;
        }
        self.push_event(&media.delete(now)).await?;
        self.delete_media(id).await?;
        if let Some(source) = source {
            self.drop_files(id, source).await?;
            self.enqueue(NewJob::soon(JobKind::DeleteObjects { source }, workspace, now)).await?;
        }
        Ok(())
    }

    /// What is done with an upload when its media is removed before it took the source over.
    async fn give_up_upload(&mut self, upload: Upload, now: Timestamp) -> Result<(), Error> {
        if !upload.is_settled() {
            return match self.end_upload(upload, now).await? {
                UploadCancelled::Now(_) => Ok(()),
                UploadCancelled::WrongState(wrong) => Err(Error::internal(wrong)),
            };
        }
        self.drop_job(JobKind::IngestUpload { media: upload.id }).await?;
        let upload = upload.hand_over(now).map_err(Error::internal)?;
        self.save_upload(&upload).await?;
        self.discard_upload(&upload, now).await
    }
}
