//! Completes an upload after the last byte: it becomes a media.

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{
    BaseRange, Failure, FailureCode, Media, MediaFacts, MediaId, PresentationId, Random, SourceId, Timestamp,
    Upload, UploadState,
};
use kinora_formats::Scanned;
use kinora_index::Index;
use kinora_isobmff::ReadError;
use kinora_store::{JobKind, NewJob, Tx, UploadLease};

use crate::receive::{ActiveRequest, with_renewal};
use crate::session::{ScanState, Session};
use crate::{
    Intake, IntakeError, RequiredEncodes, ScanError, ScanPermit, ScanResult, UploadProgress, facts_of_index,
    failure_of,
};

/// The scan result of a whole file.
enum FileOutcome {
    /// Playable without a remux: this commit makes the media ready.
    Playable(Box<Index>, ScanPermit),
    /// A job must encode or remux first, or scan the file again.
    NeedsJob(Option<(Box<Index>, ScanPermit)>),
    /// Not a media file.
    Rejected(ReadError),
}

impl Intake {
    /// Completes an upload whose file is fully received. Continues if the caller goes away.
    pub(crate) async fn complete(
        &self,
        active_request: ActiveRequest,
    ) -> Result<UploadProgress, IntakeError> {
        let intake = self.clone();
        let completing = tokio::spawn(async move {
            let mut receiving = active_request;
            // Taken out: no later request continues this session, even on failure.
            let session = receiving.guard.session.take().expect("it was opened before");
            let completed = intake.complete_session(session).await;
            receiving.guard.release();
            completed
        });
        match completing.await {
            Ok(completed) => completed,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime shuts down; the maintenance of uploads completes it.
                Err(_) => Err(IntakeError::Interrupted { offset: 0 }),
            },
        }
    }

    async fn complete_session(&self, mut session: Session) -> Result<UploadProgress, IntakeError> {
        let options = &self.0.options;
        let length = session.growing.written();
        // The scan waits for a memory permit, with many large files for minutes.
        let outcome = with_renewal(&self.0, session.lease, self.finish_scan(&mut session)).await??;
        let (lease, source) = (session.lease, session.upload.source);
        let intake = self.clone();
        let upload = match outcome {
            FileOutcome::Rejected(error) => {
                return Err(self.fail_completed(&session, failure_of(&error)).await?);
            }
            FileOutcome::Playable(index, permit) => {
                let max = session.upload.settings.max_resolution;
                let facts = facts_of_index(&index, max, options.clock.now(), &*options.random);
                let required_encodes = RequiredEncodes::of(&index, max);
                let put = options
                    .blob
                    .put_once(ObjectKey::Index(PresentationId::of(source)), Bytes::from(index.to_bytes()));
                drop(index); // its tables may be large
                if permit.has_large_permit() {
                    // The rest of the file may wait for memory, whose owners may wait for this permit.
                    put.await?;
                    drop(permit);
                    session.growing.finish().await?;
                } else {
                    let (finished, put) = tokio::join!(session.growing.finish(), put);
                    finished?;
                    put?;
                }
                let now = options.clock.now();
                options
                    .store
                    .write(async move |tx| {
                        mark_complete(tx, &intake, lease, length).await?;
                        let ready = ReadyMedia::of_source(source, facts.clone(), required_encodes);
                        complete_media(tx, lease.upload, ready, now).await
                    })
                    .await?
            }
            FileOutcome::NeedsJob(index) => {
                if let Some((index, _permit)) = index {
                    let bytes = Bytes::from(index.to_bytes());
                    options.blob.put_once(ObjectKey::Index(PresentationId::of(source)), bytes).await?;
                }
                session.growing.finish().await?;
                let now = options.clock.now();
                options
                    .store
                    .write(async move |tx| {
                        let upload = mark_complete(tx, &intake, lease, length).await?;
                        let job = JobKind::IngestUpload { media: upload.id };
                        tx.enqueue(NewJob::due_now(job, upload.workspace, now)).await?;
                        Ok::<_, kinora_store::Error>(upload)
                    })
                    .await?
            }
        };
        Ok(UploadProgress { offset: length, upload })
    }

    /// The scan result of the whole file, as far as it was scanned while it arrived.
    async fn finish_scan(&self, session: &mut Session) -> Result<FileOutcome, IntakeError> {
        session.cancel_waiting_checkpoints().await;
        let ScanState::Active(scan) = std::mem::replace(&mut session.scan, ScanState::NotScanned) else {
            return Ok(FileOutcome::NeedsJob(None));
        };
        // A job downloads the files of an edit.
        if session.upload.settings.is_edited() || scan.needs_remux().await == Ok(true) {
            // The checkpoint gives the scan state to the job.
            session.scan = ScanState::Active(scan);
            session.write_last_checkpoint(&self.0).await;
            session.wait_for_checkpoints().await;
            return Ok(FileOutcome::NeedsJob(None));
        }
        let ScanResult { scanned, permit } = match scan.finish().await {
            Ok(result) => result,
            Err(ScanError::Read(error)) => return Ok(FileOutcome::Rejected(error)),
            Err(error) => return Err(error.into()),
        };
        Ok(match scanned {
            Scanned::NeedsRemux { .. } => FileOutcome::NeedsJob(None),
            Scanned::Index(index) => {
                let required_encodes = RequiredEncodes::of(&index, session.upload.settings.max_resolution);
                if required_encodes.is_empty() {
                    FileOutcome::Playable(Box::new(index), permit)
                } else {
                    FileOutcome::NeedsJob(Some((Box::new(index), permit)))
                }
            }
        })
    }

    /// Fails an upload for the error of its scanner. Returns the error for the client.
    pub(crate) async fn fail_with_scan_error(
        &self,
        session: &mut Session,
    ) -> Result<IntakeError, IntakeError> {
        let failure = match std::mem::replace(&mut session.scan, ScanState::NotScanned) {
            ScanState::Active(scan) => match scan.finish().await {
                Err(ScanError::Read(error)) => failure_of(&error),
                Err(error) => return Err(error.into()),
                Ok(_) => return Err(IntakeError::Internal("the scanner gave up without a reason".into())),
            },
            ScanState::NotScanned => Failure::new(FailureCode::NotMedia, "the file is no media"),
        };
        self.fail(session, failure).await
    }

    /// Fails an upload. Returns the error for the client.
    ///
    /// Fails its media too, and creates it for that if no byte was stored yet: the application gets the
    /// event however early the upload failed.
    pub(crate) async fn fail(&self, session: &Session, failure: Failure) -> Result<IntakeError, IntakeError> {
        let (lease, now, reported) = (session.lease, self.0.options.clock.now(), failure.clone());
        let (offset, intake) = (session.growing.written(), self.clone());
        self.0
            .options
            .store
            .write(async move |tx| {
                let upload = find_or_create_media(tx, &intake, lease, offset).await?;
                tx.fail_upload(upload, failure.clone(), now).await
            })
            .await?;
        Ok(IntakeError::Rejected(reported))
    }

    /// Fails an upload whose stored bytes are gone: it cannot continue, and no other code would end it.
    pub(crate) async fn fail_if_lost<T>(
        &self,
        id: MediaId,
        result: Result<T, IntakeError>,
    ) -> Result<T, IntakeError> {
        let Err(IntakeError::BytesLost) = result else { return result };
        tracing::error!(upload.id = %id, "the stored bytes of an upload are missing in the object store");
        let sentence = "the stored bytes of the file are missing on the server; create another upload";
        let failure = Failure::new(FailureCode::Internal, sentence);
        let (reported, now) = (failure.clone(), self.0.options.clock.now());
        self.0
            .options
            .store
            .write(async move |tx| match tx.upload_by_id(id).await? {
                Some(upload) if !upload.is_settled() => {
                    tx.fail_upload(upload, failure.clone(), now).await.map(drop)
                }
                _ => Ok(()),
            })
            .await?;
        Err(IntakeError::Rejected(reported))
    }

    /// Fails an upload whose file is fully received, after the event for that. Returns the error for the
    /// client.
    async fn fail_completed(&self, session: &Session, failure: Failure) -> Result<IntakeError, IntakeError> {
        let (lease, now, reported) = (session.lease, self.0.options.clock.now(), failure.clone());
        let (offset, intake) = (session.growing.written(), self.clone());
        self.0
            .options
            .store
            .write(async move |tx| {
                let upload = find_or_create_media(tx, &intake, lease, offset).await?;
                if let Some(media) = tx.media_by_id(upload.id).await? {
                    tx.push_event(&media.upload_completed_event(now)).await?;
                }
                tx.fail_upload(upload, failure.clone(), now).await
            })
            .await?;
        Ok(IntakeError::Rejected(reported))
    }
}

/// The upload of a lease, with its media, which is created if no stored byte was recorded yet.
pub(crate) async fn find_or_create_media(
    tx: &mut Tx,
    intake: &Intake,
    lease: UploadLease,
    offset: u64,
) -> Result<Upload, kinora_store::Error> {
    let upload = tx.leased_upload(lease).await?;
    let UploadState::Waiting = upload.state else { return Ok(upload) };
    let options = &intake.0.options;
    let (now, random): (Timestamp, &dyn Random) = (options.clock.now(), &*options.random);
    let address = intake.unsigned_address(upload.id);
    let (upload, media, created) =
        upload.begin(offset, address, now, random).map_err(|_| kinora_store::Error::LeaseLost)?;
    tx.save_upload(&upload).await?;
    tx.insert_media(&media).await?;
    tx.push_event(&created).await?;
    tx.fetch_added_tracks(&media, now).await?;
    Ok(Upload { version: upload.version + 1, ..upload })
}

/// Records that the file is complete, with its event.
async fn mark_complete(
    tx: &mut Tx,
    intake: &Intake,
    lease: UploadLease,
    length: u64,
) -> Result<Upload, kinora_store::Error> {
    let upload = find_or_create_media(tx, intake, lease, length).await?;
    let now = intake.0.options.clock.now();
    let upload = upload.complete(length, now).map_err(|_| kinora_store::Error::LeaseLost)?;
    tx.save_upload(&upload).await?;
    let media = tx.media_by_id(upload.id).await?.ok_or(kinora_store::Error::LeaseLost)?;
    tx.push_event(&media.upload_completed_event(now)).await?;
    tx.cancel_job(JobKind::CheckUpload { media: upload.id }).await?;
    Ok(upload)
}

/// The result of the work on a media, for its last commit.
#[derive(Debug, Clone)]
pub struct ReadyMedia {
    /// Its objects are stored under this ID.
    pub source: SourceId,
    /// Its facts.
    pub facts: MediaFacts,
    /// Where the ranges of its base play, if its timeline is edited.
    pub base_ranges: Vec<BaseRange>,
    /// The encodes that were required before it is ready.
    pub encoded: RequiredEncodes,
}

impl ReadyMedia {
    /// A media that plays its source as it is.
    pub fn of_source(source: SourceId, facts: MediaFacts, encoded: RequiredEncodes) -> Self {
        Self { source, facts, base_ranges: Vec::new(), encoded }
    }
}

/// Makes the media of a completed upload ready. Its source is that of the upload, or for an edited media that
/// of its index. The objects must be stored.
///
/// [`kinora_store::Error::LeaseLost`] when the media is gone, or has the source already.
pub async fn complete_media(
    tx: &mut Tx,
    id: MediaId,
    ready: ReadyMedia,
    now: Timestamp,
) -> Result<Upload, kinora_store::Error> {
    use kinora_store::Error::LeaseLost;

    let upload = tx.upload_by_id(id).await?.ok_or(LeaseLost)?;
    let upload = upload.release_source(now).map_err(|_| LeaseLost)?;
    tx.save_upload(&upload).await?;
    let ReadyMedia { source, facts, base_ranges, encoded } = ready;
    let media = Media { base_ranges, ..tx.media_by_id(id).await?.ok_or(LeaseLost)? };
    let (media, event) = media.finish_upload(source, facts, now).map_err(|_| LeaseLost)?;
    tx.save_ready(&media, &event, now).await?;
    // Encoding already proved that it decodes.
    if !encoded.video {
        tx.enqueue(NewJob::due_now(JobKind::ProbeDecode { media: id, source }, media.workspace, now)).await?;
    }
    if encoded.has_encoded_audio {
        tx.enqueue(NewJob::due_now(JobKind::EncodeAudio { media: id, source }, media.workspace, now)).await?;
    }
    tx.discard_upload(&upload, now).await?;
    Ok(upload)
}

/// Fails the media of a completed upload and discards its file. Does nothing if it is ready or failed
/// already.
pub async fn fail_uploaded_media(
    tx: &mut Tx,
    id: MediaId,
    failure: Failure,
    now: Timestamp,
) -> Result<(), kinora_store::Error> {
    let Some(upload) = tx.upload_by_id(id).await? else { return Ok(()) };
    let Ok(upload) = upload.release_source(now) else { return Ok(()) };
    tx.save_upload(&upload).await?;
    tx.fail_media_of_upload(&upload, failure, now).await?;
    tx.discard_upload(&upload, now).await
}
