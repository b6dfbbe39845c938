//! The start and the end of an upload: the writes that every caller must make together.

use kinora_domain::{Event, Failure, FailureCode, Timestamp, Upload, UploadWrongState};

use crate::{Error, JobKind, NewJob, Priority, Tx};

/// The failure message of a media whose upload timed out.
const TIMED_OUT: &str = "the upload did not end in time; create another one and send the file again";

/// The result of the cancellation of an upload.
#[derive(Debug)]
pub enum UploadCancelled {
    /// It is cancelled now.
    Now(Box<Upload>),
    /// It was settled before; nothing changed.
    WrongState(UploadWrongState),
}

impl Tx {
    /// Registers an upload: its row, its event, and the job that checks it after its deadline.
    pub async fn register_upload(&mut self, upload: &Upload, registered: &Event) -> Result<(), Error> {
        self.insert_upload(upload).await?;
        self.push_event(registered).await?;
        let run_at = upload.deadline().unwrap_or(upload.created_at);
        let kind = JobKind::CheckUpload { media: upload.id };
        let job = NewJob { kind, workspace: Some(upload.workspace), run_at, priority: Priority::Low };
        self.enqueue(job).await.map(drop)
    }

    /// Cancels an upload and removes its media, if it has one; one event covers both (C-7). Its objects are
    /// removed after the commit.
    pub async fn cancel_upload(&mut self, upload: Upload, now: Timestamp) -> Result<UploadCancelled, Error> {
        let cancelled = self.end_upload(upload, now).await?;
        if let UploadCancelled::Now(upload) = &cancelled
            && let Some(media) = self.media_by_id(upload.id).await?
        {
            for track in &media.added_tracks {
                self.discard_track(&media, track, now).await?;
            }
            self.delete_media(media.id).await?;
        }
        Ok(cancelled)
    }

    /// Cancels an upload as [`Tx::cancel_upload`] does, and leaves its media to the caller.
    pub(crate) async fn end_upload(
        &mut self,
        upload: Upload,
        now: Timestamp,
    ) -> Result<UploadCancelled, Error> {
        let (upload, event) = match upload.cancel(now) {
            Ok(moved) => moved,
            Err(wrong) => return Ok(UploadCancelled::WrongState(wrong)),
        };
        self.save_upload(&upload).await?;
        self.push_event(&event).await?;
        self.discard_upload(&upload, now).await?;
        Ok(UploadCancelled::Now(Box::new(upload)))
    }

    /// Ends an upload after its deadline; its media fails, if it has one.
    pub async fn time_out_upload(&mut self, upload: Upload, now: Timestamp) -> Result<Upload, Error> {
        let upload = upload.time_out(now).map_err(Error::internal)?;
        self.save_upload(&upload).await?;
        let failure = Failure::new(FailureCode::UploadTimedOut, TIMED_OUT);
        self.fail_media_of_upload(&upload, failure, now).await?;
        self.discard_upload(&upload, now).await?;
        Ok(upload)
    }

    /// Ends an upload that cannot become a media; its media fails, if it has one.
    pub async fn fail_upload(
        &mut self,
        upload: Upload,
        failure: Failure,
        now: Timestamp,
    ) -> Result<Upload, Error> {
        let upload = upload.fail(failure.clone(), now).map_err(Error::internal)?;
        self.save_upload(&upload).await?;
        self.fail_media_of_upload(&upload, failure, now).await?;
        self.discard_upload(&upload, now).await?;
        Ok(upload)
    }

    /// Fails the media of an upload; does nothing without one.
    pub async fn fail_media_of_upload(
        &mut self,
        upload: &Upload,
        failure: Failure,
        now: Timestamp,
    ) -> Result<(), Error> {
        let Some(media) = self.media_by_id(upload.id).await?.filter(|media| !media.is_ready_or_failed())
        else {
            return Ok(());
        };
        let edited = media.source();
        let (media, event) = media.fail(failure, now).map_err(Error::internal)?;
        self.save_failed(&media, &event, now).await?;
        if let Some(source) = edited {
            let kind = JobKind::DeleteObjects { source };
            self.enqueue(NewJob::due_now(kind, media.workspace, now)).await?;
        }
        Ok(())
    }

    /// Queues the removal of the extra objects of an ended upload, and of its source unless a media has
    /// taken it over. Drops the job that checks the upload.
    pub async fn discard_upload(&mut self, upload: &Upload, now: Timestamp) -> Result<(), Error> {
        self.cancel_job(JobKind::CheckUpload { media: upload.id }).await?;
        let discard = JobKind::DiscardUpload { media: upload.id };
        self.enqueue_unique(NewJob::due_now(discard, upload.workspace, now)).await
    }
}
