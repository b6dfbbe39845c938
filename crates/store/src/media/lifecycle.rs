//! The start, the end and the changes of a media: the writes that every caller must make together.

use std::sync::atomic::Ordering;

use kinora_domain::{Event, Media, MediaId, MediaState, SourceId, Timestamp, Upload};

use crate::{Error, JobKind, NewJob, Priority, Tx, UploadCancelled};

impl Tx {
    /// Registers a media that must be downloaded: its rows, its event and its download job, and the same
    /// for each of its added tracks.
    pub async fn register_media(
        &mut self,
        media: &Media,
        created: &Event,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.insert_media(media).await?;
        self.push_event(created).await?;
        self.enqueue(NewJob::due_now(JobKind::Download { media: media.id }, media.workspace, now)).await?;
        self.fetch_added_tracks(media, now).await
    }

    /// Saves a media that has just become ready, its event, and the jobs that follow.
    pub async fn save_ready(&mut self, media: &Media, ready: &Event, now: Timestamp) -> Result<(), Error> {
        self.save_media(media).await?;
        self.push_event(ready).await?;
        for event in media.edit_events(now) {
            self.push_event(&event).await?;
        }
        self.fetch_waiting_tracks(media, now).await?;
        if let Some(source_ready) = media.source_ready_event(now) {
            self.push_event(&source_ready).await?;
        }
        self.enqueue_blur_hash(media, now).await?;
        if media.settings.optimize_audio {
            self.enqueue_loudness(media, now).await?;
        }
        if media.settings.mp4_support.is_none() { Ok(()) } else { self.enqueue_prepare_mp4(media, now).await }
    }

    /// Saves a media after a client update that may change the thumbnail, with the event of the update.
    /// Without an event nothing has changed, and nothing is written.
    pub async fn save_update(
        &mut self,
        media: &Media,
        updated: Option<&Event>,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.save_with_event(media, updated).await?;
        if updated.is_some() && media.blur_hash.is_none() {
            self.enqueue_blur_hash(media, now).await
        } else {
            Ok(())
        }
    }

    /// Saves a media whose loudness was measured, with its events, and queues the encode of its audio and of
    /// the files that contain it. If the target of the workspace changed meanwhile, it is measured again.
    pub async fn save_loudness(
        &mut self,
        media: &Media,
        events: &[Event],
        now: Timestamp,
    ) -> Result<(), Error> {
        self.save_with_events(media, events).await?;
        let target = self.loudness_target(media.workspace).await?.unwrap_or_default();
        if media.loudness.as_ref().is_some_and(|found| found.target != target) {
            self.enqueue_loudness(media, now).await?;
        }
        self.enqueue_audio_encodes(media, now).await
    }

    /// Queues what follows from a switch of `optimizeAudio`: the measurement where it is missing, and the
    /// encodes of audio that changes. The media has the new value.
    ///
    /// A worker on a measurement for an earlier setting loses its lease.
    pub async fn follow_optimize_audio(
        &mut self,
        media: &Media,
        has_changed: bool,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (Some(source), true) = (media.source(), media.is_ready()) else { return Ok(()) };
        if has_changed {
            self.cancel_job(JobKind::MeasureLoudness { media: media.id, source }).await?;
            self.enqueue_audio_encodes(media, now).await?;
        }
        self.enqueue_loudness(media, now).await
    }

    /// Queues the measurement of a media, if it needs one and none is queued.
    async fn enqueue_loudness(&mut self, media: &Media, now: Timestamp) -> Result<(), Error> {
        let target = self.loudness_target(media.workspace).await?.unwrap_or_default();
        let Some(source) = media.needs_loudness(target) else { return Ok(()) };
        let kind = JobKind::MeasureLoudness { media: media.id, source };
        let job = NewJob { kind, workspace: Some(media.workspace), run_at: now, priority: Priority::Low };
        self.enqueue_unique(job).await
    }

    /// Queues the encodes of audio that plays with other gains from now on. A running job of the same kind
    /// may have read the gains of before.
    async fn enqueue_audio_encodes(&mut self, media: &Media, now: Timestamp) -> Result<(), Error> {
        let Some(source) = media.source() else { return Ok(()) };
        let encode = JobKind::EncodeAudio { media: media.id, source };
        self.cancel_job(encode).await?;
        self.enqueue(NewJob::due_now(encode, media.workspace, now)).await?;
        if media.settings.mp4_support.is_none() {
            return Ok(());
        }
        let refresh = JobKind::RefreshMp4 { media: media.id, source };
        self.cancel_job(refresh).await?;
        self.enqueue(NewJob::due_now(refresh, media.workspace, now)).await.map(drop)
    }

    /// Queues the BlurHash job of a ready media with a video track.
    async fn enqueue_blur_hash(&mut self, media: &Media, now: Timestamp) -> Result<(), Error> {
        let MediaState::Ready { source, facts, .. } = &media.state else { return Ok(()) };
        if !facts.has_thumbnails() || !self.shared.has_blur_hash.load(Ordering::Acquire) {
            return Ok(());
        }
        let kind = JobKind::BlurHash { media: media.id, source: *source };
        let job = NewJob { kind, workspace: Some(media.workspace), run_at: now, priority: Priority::Low };
        self.enqueue(job).await.map(drop)
    }

    /// Saves a media that has just failed, its event, and the jobs that follow.
    pub async fn save_failed(&mut self, media: &Media, failed: &Event, now: Timestamp) -> Result<(), Error> {
        self.save_media(media).await?;
        let to_cut: Vec<_> = media.subtitles_to_cut().collect();
        self.set_used_sources(media.id, &to_cut, media.workspace, now).await?;
        self.push_event(failed).await?;
        self.fetch_waiting_tracks(media, now).await
    }

    /// Saves a media with newly requested files and the event of the change. A job prepares the files and
    /// emits their events.
    pub async fn save_mp4_support(
        &mut self,
        media: &Media,
        updated: &Event,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.save_with_event(media, Some(updated)).await?;
        self.enqueue_prepare_mp4(media, now).await
    }

    /// Queues the job that prepares the files of a ready media. A worker on an earlier request loses its
    /// lease, so only the latest request emits an event.
    async fn enqueue_prepare_mp4(&mut self, media: &Media, now: Timestamp) -> Result<(), Error> {
        let (Some(source), true) = (media.source(), media.is_ready()) else { return Ok(()) };
        self.cancel_mp4_jobs(media.id, source).await?;
        let prepare = NewJob::due_now(JobKind::PrepareMp4 { media: media.id, source }, media.workspace, now);
        self.enqueue(prepare).await.map(drop)
    }

    async fn cancel_mp4_jobs(&mut self, media: MediaId, source: SourceId) -> Result<(), Error> {
        self.cancel_job(JobKind::PrepareMp4 { media, source }).await?;
        self.cancel_job(JobKind::EncodeMp4 { media, source }).await
    }

    /// Saves a media that a client changed, with its events in order. Without events nothing has changed,
    /// and nothing is written.
    pub async fn save_with_events(&mut self, media: &Media, events: &[Event]) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        self.save_media(media).await?;
        for event in events {
            self.push_event(event).await?;
        }
        Ok(())
    }

    /// Saves a media that a client changed, with its event. Without an event nothing has changed, and
    /// nothing is written.
    pub async fn save_with_event(&mut self, media: &Media, updated: Option<&Event>) -> Result<(), Error> {
        let Some(updated) = updated else { return Ok(()) };
        self.save_media(media).await?;
        self.push_event(updated).await.map(drop)
    }

    /// Removes a media: its rows and its download jobs. Emits its event and queues the removal of its
    /// objects (C-132). A direct upload that still runs first emits a cancel event (C-7).
    ///
    /// A worker that downloads the media loses its lease with the job, and stops at its next renewal.
    pub async fn remove_media(&mut self, media: Media, now: Timestamp) -> Result<(), Error> {
        let (id, workspace, source) = (media.id, media.workspace, media.source());
        if let Some(upload) = self.upload_by_id(media.id).await?.filter(Upload::holds_source) {
            self.cancel_upload_of_media(upload, now).await?;
        }
        self.cancel_job(JobKind::Download { media: media.id }).await?;
        for track in &media.added_tracks {
            self.discard_track(&media, track, now).await?;
        }
        self.set_used_sources(id, &[], workspace, now).await?;
        self.push_event(&media.deleted_event(now)).await?;
        self.delete_media(id).await?;
        if let Some(source) = source {
            self.cancel_mp4_jobs(id, source).await?;
            for kind in
                [JobKind::MeasureLoudness { media: id, source }, JobKind::RefreshMp4 { media: id, source }]
            {
                self.cancel_job(kind).await?;
            }
            self.enqueue(NewJob::due_now(JobKind::DeleteObjects { source }, workspace, now)).await?;
        }
        Ok(())
    }

    /// Cancels the upload of a removed media that has not taken over the source.
    async fn cancel_upload_of_media(&mut self, upload: Upload, now: Timestamp) -> Result<(), Error> {
        if !upload.is_settled() {
            return match self.end_upload(upload, now).await? {
                UploadCancelled::Now(_) => Ok(()),
                UploadCancelled::WrongState(wrong) => Err(Error::internal(wrong)),
            };
        }
        self.cancel_job(JobKind::IngestUpload { media: upload.id }).await?;
        let upload = upload.release_source(now).map_err(Error::internal)?;
        self.save_upload(&upload).await?;
        self.discard_upload(&upload, now).await
    }
}
