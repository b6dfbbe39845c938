//! The last byte: an upload becomes a media.

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{
    Failure, FailureCode, MediaFacts, MediaId, PresentationId, Random, Timestamp, Upload, UploadState,
};
use kinora_formats::Scanned;
use kinora_index::Index;
use kinora_isobmff::ReadError;
use kinora_store::{JobKind, NewJob, Tx, UploadLease};

use crate::receive::{Receiving, renewing};
use crate::session::{Reading, Session};
use crate::{Intake, IntakeError, Missing, ScanError, ScanTurn, Standing, Whole, failure_of, of_index};

/// What the bytes of a whole file were.
enum Read {
    /// It plays as it lies: the media is ready with this commit.
    Playable(Box<Index>, ScanTurn),
    /// Something must be made first, or the file must be read once more, which a job does.
    Later(Option<(Box<Index>, ScanTurn)>),
    /// It is no media.
    Refused(ReadError),
}

impl Intake {
    /// Completes an upload whose file is whole. Goes on when the caller goes away.
    pub(crate) async fn complete(&self, receiving: Receiving) -> Result<Standing, IntakeError> {
        let intake = self.clone();
        let completing = tokio::spawn(async move {
            let mut receiving = receiving;
            // Taken out: whatever becomes of it, nobody goes on with this session.
            let session = receiving.entered.session.take().expect("it was opened before");
            let completed = intake.complete_session(session).await;
            receiving.entered.leave();
            completed
        });
        match completing.await {
            Ok(completed) => completed,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is going down; whoever looks after uploads completes it.
                Err(_) => Err(IntakeError::Interrupted { offset: 0 }),
            },
        }
    }

    async fn complete_session(&self, mut session: Session) -> Result<Standing, IntakeError> {
        let options = &self.0.options;
        let length = session.growing.written();
        // The scan waits for its turn, of many large files for minutes.
        let read = renewing(&self.0, session.lease, self.read_whole(&mut session)).await??;
        let (lease, source) = (session.lease, session.upload.source);
        let intake = self.clone();
        let upload = match read {
            Read::Refused(error) => {
                return Err(self.fail_completed(&session, failure_of(&error)).await?);
            }
            Read::Playable(index, turn) => {
                let max = session.upload.settings.max_resolution;
                let facts = of_index(&index, max, options.clock.now(), &*options.random);
                let missing = Missing::of(&index, max);
                let put = options
                    .blob
                    .put_once(ObjectKey::Index(PresentationId::of(source)), Bytes::from(index.to_bytes()));
                drop(index); // its tables may be large
                if turn.holds_place() {
                    // What is left of the file may wait for memory, whose holders may wait for this turn.
                    put.await?;
                    drop(turn);
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
                        whole(tx, &intake, lease, length).await?;
                        take_over(tx, lease.upload, facts.clone(), missing, now).await
                    })
                    .await?
            }
            Read::Later(index) => {
                if let Some((index, _turn)) = index {
                    let bytes = Bytes::from(index.to_bytes());
                    options.blob.put_once(ObjectKey::Index(PresentationId::of(source)), bytes).await?;
                }
                session.growing.finish().await?;
                let now = options.clock.now();
                options
                    .store
                    .write(async move |tx| {
                        let upload = whole(tx, &intake, lease, length).await?;
                        let job = JobKind::IngestUpload { media: upload.id };
                        tx.enqueue(NewJob::soon(job, upload.workspace, now)).await?;
                        Ok::<_, kinora_store::Error>(upload)
                    })
                    .await?
            }
        };
        Ok(Standing { offset: length, upload })
    }

    /// What the whole file is, as far as it has been read while it came.
    async fn read_whole(&self, session: &mut Session) -> Result<Read, IntakeError> {
        session.end_checkpoints().await;
        let Reading::On(scan) = std::mem::replace(&mut session.scan, Reading::Blind) else {
            return Ok(Read::Later(None));
        };
        // Another sound is fetched by a job.
        if session.upload.settings.sound.is_some() || scan.is_foreign().await == Ok(true) {
            // What was seen of it while it came is told to the job.
            session.scan = Reading::On(scan);
            session.write_last_checkpoint(&self.0).await;
            session.finish_checkpoints().await;
            return Ok(Read::Later(None));
        }
        let Whole { scanned, turn } = match scan.finish().await {
            Ok(whole) => whole,
            Err(ScanError::Read(error)) => return Ok(Read::Refused(error)),
            Err(error) => return Err(error.into()),
        };
        Ok(match scanned {
            Scanned::Foreign { .. } => Read::Later(None),
            Scanned::Index(index) => {
                let missing = Missing::of(&index, session.upload.settings.max_resolution);
                if missing.is_nothing() {
                    Read::Playable(Box::new(index), turn)
                } else {
                    Read::Later(Some((Box::new(index), turn)))
                }
            }
        })
    }

    /// Ends an upload of which nothing can become, for what its scanner says. Answers what the client is
    /// told.
    pub(crate) async fn fail_as_read(&self, session: &mut Session) -> Result<IntakeError, IntakeError> {
        let failure = match std::mem::replace(&mut session.scan, Reading::Blind) {
            Reading::On(scan) => match scan.finish().await {
                Err(ScanError::Read(error)) => failure_of(&error),
                Err(error) => return Err(error.into()),
                Ok(_) => return Err(IntakeError::Internal("the scanner gave up without a reason".into())),
            },
            Reading::Blind => Failure::new(FailureCode::NotMedia, "the file is no media"),
        };
        self.fail(session, failure).await
    }

    /// Ends an upload of which nothing can become. Answers what the client is told.
    ///
    /// Its media fails, and is made for that when no byte was kept yet: the application gets the event
    /// however early the end came.
    pub(crate) async fn fail(&self, session: &Session, failure: Failure) -> Result<IntakeError, IntakeError> {
        let (lease, now, told) = (session.lease, self.0.options.clock.now(), failure.clone());
        let (kept, intake) = (session.growing.written(), self.clone());
        self.0
            .options
            .store
            .write(async move |tx| {
                let upload = begin(tx, &intake, lease, kept).await?;
                tx.fail_upload(upload, failure.clone(), now).await
            })
            .await?;
        Ok(IntakeError::Hopeless(told))
    }

    /// An upload of which what was kept is gone cannot go on, and nobody would end it.
    pub(crate) async fn end_if_lost<T>(
        &self,
        id: MediaId,
        ended: Result<T, IntakeError>,
    ) -> Result<T, IntakeError> {
        let Err(IntakeError::Lost) = ended else { return ended };
        tracing::error!(upload.id = %id, "what was kept of an upload is gone from the store of objects");
        let sentence = "what was kept of the file is gone from the server's store; create another upload";
        let failure = Failure::new(FailureCode::Internal, sentence);
        let (told, now) = (failure.clone(), self.0.options.clock.now());
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
        Err(IntakeError::Hopeless(told))
    }

    /// The same, when the whole file has come.
    async fn fail_completed(&self, session: &Session, failure: Failure) -> Result<IntakeError, IntakeError> {
        let (lease, now, told) = (session.lease, self.0.options.clock.now(), failure.clone());
        let (kept, intake) = (session.growing.written(), self.clone());
        self.0
            .options
            .store
            .write(async move |tx| {
                let upload = begin(tx, &intake, lease, kept).await?;
                if let Some(media) = tx.media_by_id(upload.id).await? {
                    tx.push_event(&media.uploaded(now)).await?;
                }
                tx.fail_upload(upload, failure.clone(), now).await
            })
            .await?;
        Ok(IntakeError::Hopeless(told))
    }
}

/// The upload of a lease, with its media, which is made if no byte was written down yet.
pub(crate) async fn begin(
    tx: &mut Tx,
    intake: &Intake,
    lease: UploadLease,
    kept: u64,
) -> Result<Upload, kinora_store::Error> {
    let upload = tx.leased_upload(lease).await?;
    let UploadState::Waiting = upload.state else { return Ok(upload) };
    let options = &intake.0.options;
    let (now, random): (Timestamp, &dyn Random) = (options.clock.now(), &*options.random);
    let address = intake.unsigned_address(upload.id);
    let (upload, media, created) =
        upload.begin(kept, address, now, random).map_err(|_| kinora_store::Error::LeaseLost)?;
    tx.save_upload(&upload).await?;
    tx.insert_media(&media).await?;
    tx.push_event(&created).await?;
    tx.begin_tracks(&media, now).await?;
    Ok(Upload { version: upload.version + 1, ..upload })
}

/// Writes down that the file is whole, with the event that says so.
async fn whole(
    tx: &mut Tx,
    intake: &Intake,
    lease: UploadLease,
    length: u64,
) -> Result<Upload, kinora_store::Error> {
    let upload = begin(tx, intake, lease, length).await?;
    let now = intake.0.options.clock.now();
    let upload = upload.complete(length, now).map_err(|_| kinora_store::Error::LeaseLost)?;
    tx.save_upload(&upload).await?;
    let media = tx.media_by_id(upload.id).await?.ok_or(kinora_store::Error::LeaseLost)?;
    tx.push_event(&media.uploaded(now)).await?;
    tx.drop_job(JobKind::TendUpload { media: upload.id }).await?;
    Ok(upload)
}

/// The media of a completed upload is ready, and takes its source over. The objects of source and index must
/// be there.
///
/// [`kinora_store::Error::LeaseLost`] when the media is gone, or has taken it over already.
pub async fn take_over(
    tx: &mut Tx,
    id: MediaId,
    facts: MediaFacts,
    missing: Missing,
    now: Timestamp,
) -> Result<Upload, kinora_store::Error> {
    use kinora_store::Error::LeaseLost;

    let upload = tx.upload_by_id(id).await?.ok_or(LeaseLost)?;
    let source = upload.source;
    let upload = upload.hand_over(now).map_err(|_| LeaseLost)?;
    tx.save_upload(&upload).await?;
    let media = tx.media_by_id(id).await?.ok_or(LeaseLost)?;
    let (media, ready) = media.finish_upload(source, facts, now).map_err(|_| LeaseLost)?;
    tx.save_ready(&media, &ready, now).await?;
    // What was encoded has been decoded already.
    if !missing.picture {
        tx.enqueue(NewJob::soon(JobKind::ProbeDecode { media: id, source }, media.workspace, now)).await?;
    }
    if missing.encodes_sound {
        tx.enqueue(NewJob::soon(JobKind::EncodeAudio { media: id, source }, media.workspace, now)).await?;
    }
    tx.discard_upload(&upload, now).await?;
    Ok(upload)
}

/// The media of a completed upload has failed; its file is given up. Nothing happens when it is settled
/// already.
pub async fn give_up(
    tx: &mut Tx,
    id: MediaId,
    failure: Failure,
    now: Timestamp,
) -> Result<(), kinora_store::Error> {
    let Some(upload) = tx.upload_by_id(id).await? else { return Ok(()) };
    let Ok(upload) = upload.hand_over(now) else { return Ok(()) };
    tx.save_upload(&upload).await?;
    tx.fail_media_of_upload(&upload, failure, now).await?;
    tx.discard_upload(&upload, now).await
}
