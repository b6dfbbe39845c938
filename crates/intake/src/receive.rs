//! Receiving the bytes of one request.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, stream};
use kinora_domain::{Failure, FailureCode, LengthProblem, MediaId, Upload, UploadState};
use kinora_store::UploadLease;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::checksum::CHECKED_BYTES_MAX;
use crate::intake::Parts;
use crate::pace::{Paced, TooSlow};
use crate::session::{Opened, STUCK_MAX, Session};
use crate::slot::{Entered, NotEntered};
use crate::{Append, Hopeless, Intake, IntakeError, ROOM_EVERY_BYTES, Standing, has_room};

/// How often it is written down how far a request has come, which renews the upload.
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// The same for the first time, from which on there is a media: somebody waits for its event.
const BEGIN_WITHIN: Duration = Duration::from_millis(500);
/// How long a request that is interrupted passes on what it has taken. The next one waits longer to enter
/// (`ENTER_MAX` in `slot.rs`).
const LEAVE_WITHIN: Duration = Duration::from_secs(5);
/// How long what a request left is remembered for the next one. It holds an open file, or a part in memory.
const REMEMBERED: Duration = Duration::from_secs(5);

/// Who asks where an upload stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// A client, which may be killed, or its process: somebody looks after the upload.
    Client,
    /// The job that looks after it, which says itself when it comes again.
    Job,
}

/// A request that has entered, with the upload open.
pub(crate) struct Receiving {
    pub(crate) entered: Entered,
}

/// How the body of a request ended.
enum Ended {
    /// As it should.
    Whole,
    /// The client's line broke.
    Broken,
    Slow,
    Interrupted,
    /// A piece would have gone beyond the end of the file.
    TooMany {
        length: u64,
    },
    /// More bytes than the upload may have.
    TooLarge {
        max: u64,
    },
    /// The scanner gave up.
    Hopeless,
}

impl Intake {
    pub(crate) async fn find_standing(&self, id: MediaId, asking: Asking) -> Result<Standing, IntakeError> {
        let mut receiving = self.enter(id).await?;
        match self.open(&mut receiving, id, asking).await? {
            Err(upload) => {
                receiving.entered.leave();
                Ok(Standing { offset: upload.kept(), upload: *upload })
            }
            Ok(()) => self.stand(receiving).await,
        }
    }

    pub(crate) async fn announce_length(&self, id: MediaId, length: u64) -> Result<Standing, IntakeError> {
        let now = self.0.options.clock.now();
        let answer = self
            .0
            .options
            .store
            .write(async move |tx| {
                let Some(upload) = tx.upload_by_id(id).await? else { return Ok(Err(IntakeError::NotFound)) };
                if upload.is_settled() {
                    return Ok(Err(ended(upload)));
                }
                if let Err(problem) = upload.check_length(length, upload.kept()) {
                    return Ok(Err(problem.into()));
                }
                if upload.length.is_some() {
                    return Ok(Ok(upload));
                }
                let upload = upload.announce(length, now).map_err(|_| kinora_store::Error::Conflict)?;
                tx.save_upload(&upload).await?;
                Ok::<_, kinora_store::Error>(Ok(upload))
            })
            .await?;
        answer.map(|upload| Standing { offset: upload.kept(), upload })
    }

    pub(crate) async fn cancel_upload(&self, id: MediaId) -> Result<Upload, IntakeError> {
        let now = self.0.options.clock.now();
        let answer = self
            .0
            .options
            .store
            .write(async move |tx| {
                let Some(upload) = tx.upload_by_id(id).await? else { return Ok(Err(IntakeError::NotFound)) };
                let before = upload.clone();
                let cancelled = tx.cancel_upload(upload, now).await?;
                Ok::<_, kinora_store::Error>(cancelled.map_err(|_| ended(before)))
            })
            .await?;
        self.0.slots.interrupt(id);
        answer
    }

    pub(crate) async fn receive_body<B, E>(
        &self,
        id: MediaId,
        append: Append<B>,
    ) -> Result<Standing, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let mut receiving = self.enter(id).await?;
        if let Err(upload) = self.open(&mut receiving, id, Asking::Client).await? {
            receiving.entered.leave();
            return match upload.state {
                UploadState::Completed { .. } if append.may_overlap => {
                    Ok(Standing { offset: upload.kept(), upload: *upload })
                }
                _ => Err(ended(*upload)),
            };
        }
        match self.receive_entered(&mut receiving, append).await {
            Ok(()) => self.stand(receiving).await,
            Err(error) => {
                let offset = receiving.offset();
                if is_session_lost(&error) {
                    *receiving.entered.session = None;
                }
                self.rest(receiving);
                Err(error.standing_at(offset))
            }
        }
    }

    /// Ends whoever receives the upload, and takes its place.
    pub(crate) async fn enter(&self, id: MediaId) -> Result<Receiving, IntakeError> {
        match self.0.slots.enter(id).await {
            Ok(entered) => Ok(Receiving { entered }),
            Err(NotEntered::Interrupted) => Err(IntakeError::Interrupted { offset: 0 }),
            Err(NotEntered::Busy) => Err(IntakeError::Busy),
        }
    }

    /// Opens the upload. `Err` when it is settled, perhaps because its time is just found to be over.
    pub(crate) async fn open(
        &self,
        receiving: &mut Receiving,
        id: MediaId,
        asking: Asking,
    ) -> Result<Result<(), Box<Upload>>, IntakeError> {
        let left = receiving.entered.session.take();
        let session = match Session::open(&self.0, id, left, asking).await? {
            Opened::Settled(upload) => return Ok(Err(upload)),
            Opened::Open(session) => session,
        };
        let now = self.0.options.clock.now();
        // What is whole is completed, however late, but not for ever where that fails again and again.
        let is_whole =
            session.upload.length == Some(session.growing.kept()) && now < session.upload.ticket().expires_at;
        if !is_whole && session.upload.deadline().is_some_and(|deadline| deadline <= now) {
            let lease = session.lease;
            drop(session);
            let late = self
                .0
                .options
                .store
                .write(async move |tx| {
                    let upload = tx.leased_upload(lease).await?;
                    tx.time_out_upload(upload, now).await
                })
                .await?;
            return Ok(Err(Box::new(late)));
        }
        *receiving.entered.session = Some(*session);
        Ok(Ok(()))
    }

    /// Answers where an open upload stands; one that is whole is completed first.
    async fn stand(&self, mut receiving: Receiving) -> Result<Standing, IntakeError> {
        let session = receiving.session();
        // All of it is kept, but what is whole.
        let offset = session.growing.written();
        if session.upload.length == Some(offset) && offset > 0 {
            return self.complete(receiving).await;
        }
        let upload = session.upload.clone();
        self.rest(receiving);
        Ok(Standing { upload, offset })
    }

    async fn receive_entered<B, E>(
        &self,
        receiving: &mut Receiving,
        append: Append<B>,
    ) -> Result<(), IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let interrupted = receiving.entered.interrupted.clone();
        let session = receiving.session();
        let offset = session.growing.kept();
        let fits = check(&append, &session.upload, offset)?;
        if let Some(length) = fits.length {
            session.announce(&self.0, length).await?;
        }
        if session.upload.length == Some(offset) && offset > 0 {
            return Ok(()); // whole already: what comes again need not be read
        }
        let to_come = append.body_len.unwrap_or(0).saturating_sub(fits.skip);
        if !has_room(&self.0.options.blob, to_come).await? {
            return Err(IntakeError::Full { offset });
        }
        let mut ended = match append.checksum {
            None => {
                let mut body = Paced::new(append.body, self.0.options.pace_min);
                let ended =
                    self.take_body(session, &mut body, fits.skip, append.body_len, &interrupted).await?;
                let end = append.start.saturating_add(body.total());
                if append.is_last && matches!(ended, Ended::Whole) && end < offset {
                    return Err(LengthProblem::BelowKept { kept: offset }.into());
                }
                let is_short = append.body_len.is_some_and(|len| len != body.total());
                if matches!(ended, Ended::Whole) && is_short { Ended::Broken } else { ended }
            }
            Some(checksum) => {
                let _memory = tokio::select! {
                    biased;
                    () = interrupted.cancelled() => return Err(IntakeError::Interrupted { offset }),
                    memory = timeout(STUCK_MAX, self.0.checked.acquire()) => {
                        memory.map_err(|_| IntakeError::Busy)?.expect("the semaphore is never closed")
                    }
                };
                let body = Paced::new(append.body, self.0.options.pace_min);
                match self.collect(session, body, append.body_len, &interrupted).await? {
                    Err(ended) => ended,
                    Ok(bytes) if !checksum.holds(std::slice::from_ref(&bytes)) => {
                        return Err(IntakeError::BadChecksum { offset });
                    }
                    Ok(bytes) => {
                        let pieces = stream::iter([Ok::<_, std::io::Error>(bytes)]);
                        let mut body = Paced::new(pieces, self.0.options.pace_min);
                        self.take_body(session, &mut body, 0, None, &interrupted).await?
                    }
                }
            }
        };
        // Also of one who was interrupted between two batches: it was sent, and need not be sent again.
        let leaves = async {
            interrupted.cancelled().await;
            sleep(LEAVE_WITHIN).await;
        };
        if self.pass_on_until(session, leaves).await?.is_err() {
            ended = Ended::Hopeless;
        }
        let written = session.growing.written();
        let ends_file = session.upload.length.map_or(append.is_last, |length| length == written);
        // What is whole gets its name next, which keeps it as well.
        if !(ends_file && matches!(ended, Ended::Whole)) {
            self.keep(session).await?;
            session.write_checkpoint_if_due(&self.0).await;
        }
        let offset = session.growing.written();
        match ended {
            Ended::Whole => {}
            Ended::Broken => return Err(IntakeError::Broken { offset }),
            Ended::Slow => return Err(IntakeError::Slow { offset }),
            Ended::Interrupted => return Err(IntakeError::Interrupted { offset }),
            Ended::TooMany { length } => return Err(IntakeError::TooManyBytes { offset, length }),
            Ended::TooLarge { max } => return Err(self.fail(session, too_large(max)).await?),
            Ended::Hopeless => return Err(self.fail_as_read(session).await?),
        }
        if append.is_last {
            match session.upload.length {
                Some(length) if length > offset => return Err(IntakeError::TooFewBytes { offset }),
                Some(_) => {}
                None => {
                    session.upload.check_length(offset, offset)?;
                    session.announce(&self.0, offset).await?;
                }
            }
        }
        Ok(())
    }

    /// Takes the body until it ends or nothing more may be taken.
    async fn take_body<B, E>(
        &self,
        session: &mut Session,
        body: &mut Paced<B>,
        mut skip: u64,
        body_len: Option<u64>,
        interrupted: &CancellationToken,
    ) -> Result<Ended, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let is_new = matches!(session.upload.state, UploadState::Waiting);
        let mut renew_at = Instant::now() + if is_new { BEGIN_WITHIN } else { RENEW_EVERY };
        let mut looked_at = session.taken();
        loop {
            let due = session.due();
            let next = tokio::select! {
                biased;
                () = interrupted.cancelled() => return Ok(Ended::Interrupted),
                () = sleep_until(due.unwrap_or(renew_at)), if due.is_some() => None,
                () = sleep_until(renew_at) => {
                    if self.pass_on(session, interrupted).await?.is_err() {
                        return Ok(Ended::Hopeless);
                    }
                    self.keep(session).await?;
                    renew_at = Instant::now() + RENEW_EVERY;
                    continue;
                }
                next = body.next() => Some(next),
            };
            match next {
                None => {}
                Some(Err(TooSlow)) => return Ok(Ended::Slow),
                Some(Ok(None)) => return Ok(Ended::Whole),
                Some(Ok(Some(Err(error)))) => {
                    tracing::debug!(error = %error, upload.id = %session.upload.id, "the body of an upload broke off");
                    return Ok(Ended::Broken);
                }
                Some(Ok(Some(Ok(mut bytes)))) => {
                    if let Some(length) = body_len.filter(|len| body.total() > *len) {
                        return Ok(Ended::TooMany { length });
                    }
                    let known = skip.min(bytes.len() as u64);
                    skip -= known;
                    let bytes = bytes.split_off(usize::try_from(known).unwrap_or(usize::MAX));
                    let end = session.taken() + bytes.len() as u64;
                    if let Some(length) = session.upload.length.filter(|length| end > *length) {
                        return Ok(Ended::TooMany { length });
                    }
                    if let Some(max) = session.upload.size_max.filter(|max| end > *max) {
                        return Ok(Ended::TooLarge { max });
                    }
                    if bytes.is_empty() {
                        continue;
                    }
                    session.take(bytes);
                    if !session.has_full_batch() {
                        continue;
                    }
                }
            }
            if self.pass_on(session, interrupted).await?.is_err() {
                return Ok(Ended::Hopeless);
            }
            session.begin_if_kept(self).await?;
            let end = session.taken();
            if end - looked_at >= ROOM_EVERY_BYTES {
                looked_at = end;
                if !has_room(&self.0.options.blob, 0).await? {
                    self.keep(session).await?;
                    return Err(IntakeError::Full { offset: session.growing.kept() });
                }
            }
        }
    }

    /// Passes on what was taken. It waits for the disk, for memory that others hold, and for the scan's turn.
    async fn pass_on(
        &self,
        session: &mut Session,
        interrupted: &CancellationToken,
    ) -> Result<Result<(), Hopeless>, IntakeError> {
        self.pass_on_until(session, interrupted.cancelled()).await
    }

    /// The same. Renews the upload, and gives up when `end` is ready.
    async fn pass_on_until(
        &self,
        session: &mut Session,
        end: impl Future<Output = ()>,
    ) -> Result<Result<(), Hopeless>, IntakeError> {
        let lease = session.lease;
        let passed = tokio::select! {
            biased;
            passed = renewing(&self.0, lease, session.pass_on(&self.0)) => Some(passed?),
            () = end => None,
        };
        passed.unwrap_or_else(|| Err(IntakeError::Interrupted { offset: session.growing.kept() }))
    }

    /// Holds a body in memory until it has ended. Only one that came to its end is held against its checksum.
    async fn collect<B, E>(
        &self,
        session: &Session,
        mut body: Paced<B>,
        body_len: Option<u64>,
        interrupted: &CancellationToken,
    ) -> Result<Result<Bytes, Ended>, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let mut held = BytesMut::new();
        let mut renew_at = Instant::now() + RENEW_EVERY;
        loop {
            let next = tokio::select! {
                biased;
                () = interrupted.cancelled() => return Ok(Err(Ended::Interrupted)),
                () = sleep_until(renew_at) => {
                    // Nothing is kept yet, and yet nobody may take it for left alone.
                    let now = self.0.options.clock.now();
                    self.0.options.store.note_upload_alive(session.lease, now).await?;
                    renew_at = Instant::now() + RENEW_EVERY;
                    continue;
                }
                next = body.next() => next,
            };
            match next {
                Err(TooSlow) => return Ok(Err(Ended::Slow)),
                Ok(Some(Err(_))) => return Ok(Err(Ended::Broken)),
                Ok(Some(Ok(bytes))) => {
                    if body.total() > CHECKED_BYTES_MAX {
                        return Err(IntakeError::ChecksumTooLong { max: CHECKED_BYTES_MAX });
                    }
                    held.extend_from_slice(&bytes);
                }
                Ok(None) if body_len.is_some_and(|body_len| body_len != body.total()) => {
                    return Ok(Err(Ended::Broken));
                }
                Ok(None) => return Ok(Ok(held.freeze())),
            }
        }
    }

    /// Makes all that came outlive this process, and writes it down.
    async fn keep(&self, session: &mut Session) -> Result<(), IntakeError> {
        session.growing.keep().await?;
        session.begin_if_kept(self).await?;
        session.note_kept(&self.0, false).await
    }

    /// What a request leaves is remembered for a moment: the next one mostly comes at once.
    pub(crate) fn rest(&self, mut receiving: Receiving) {
        let Some(session) = receiving.entered.session.as_mut() else { return receiving.entered.leave() };
        session.left_at = Instant::now();
        let id = session.upload.id;
        receiving.entered.leave();
        let parts = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            sleep(REMEMBERED).await;
            if let Some(parts) = parts.upgrade()
                && let Some(mut session) = parts.slots.enter_if_idle(id)
                && session.as_ref().is_some_and(|session| session.left_at.elapsed() >= REMEMBERED)
            {
                if let Some(session) = session.as_mut()
                    && let Err(error) = session.note_kept(&parts, true).await
                {
                    // The file itself knows; and who receives it elsewhere has noted more.
                    tracing::debug!(error = %error, upload.id = %id, "an upload at rest was not noted");
                }
                *session = None;
                drop(session);
                parts.slots.forget(id);
            }
        });
    }
}

impl Receiving {
    /// The upload that was opened.
    pub(crate) fn session(&mut self) -> &mut Session {
        self.entered.session.as_mut().expect("it was opened before")
    }

    fn offset(&self) -> u64 {
        self.entered.session.as_ref().map_or(0, |session| session.growing.kept())
    }
}

impl Session {
    /// Says how long the file is, unless that is known.
    async fn announce(&mut self, parts: &Parts, length: u64) -> Result<(), IntakeError> {
        self.growing.announce(Some(length));
        if self.upload.length.is_some() {
            return Ok(());
        }
        let (lease, now) = (self.lease, parts.options.clock.now());
        self.upload = parts
            .options
            .store
            .write(async move |tx| {
                let upload = tx.leased_upload(lease).await?;
                let upload = upload.announce(length, now).map_err(|_| kinora_store::Error::LeaseLost)?;
                tx.save_upload(&upload).await?;
                Ok::<_, kinora_store::Error>(upload)
            })
            .await?;
        Ok(())
    }

    /// The media is there from the first byte that is kept (contract decision 6).
    async fn begin_if_kept(&mut self, intake: &Intake) -> Result<(), IntakeError> {
        let kept = self.growing.kept();
        if kept == 0 || !matches!(self.upload.state, UploadState::Waiting) {
            return Ok(());
        }
        if self.upload.length == Some(self.growing.written()) {
            return Ok(()); // the commit that completes it does that too
        }
        let lease = self.lease;
        let intake = intake.clone();
        let store = intake.0.options.store.clone();
        self.upload =
            store.write(async move |tx| crate::complete::begin(tx, &intake, lease, kept).await).await?;
        Ok(())
    }

    /// A file tells itself what of it is kept, and its lock who writes it: in a folder the row is renewed now and then, and at rest. What is in a bucket is
    /// only kept while nobody else has the upload, and the row knows.
    async fn note_kept(&mut self, parts: &Parts, is_at_rest: bool) -> Result<(), IntakeError> {
        let UploadState::Uploading { kept: noted, kept_at } = self.upload.state else { return Ok(()) };
        let (kept, now) = (self.growing.kept(), parts.options.clock.now());
        let age = u128::try_from(now.micros_since(kept_at)).unwrap_or(0);
        let is_due = parts.options.blob.is_shared() || age >= RENEW_EVERY.as_micros();
        // An announced length is held against the row.
        if noted < kept && (is_due || is_at_rest || self.upload.length.is_none()) {
            parts.options.store.note_upload_kept(self.lease, kept, now).await?;
            self.upload.state = UploadState::Uploading { kept, kept_at: now };
        }
        Ok(())
    }
}

/// Awaits `work`, which may wait for its turn for minutes, and renews the upload until it is done.
///
/// Errors: `Interrupted` when another process has the upload. `work` is cancelled then.
pub(crate) async fn renewing<T>(
    parts: &Parts,
    lease: UploadLease,
    work: impl Future<Output = T>,
) -> Result<T, IntakeError> {
    let options = &parts.options;
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Ok(done),
            () = sleep(RENEW_EVERY) => {}
        }
        match options.store.note_upload_alive(lease, options.clock.now()).await {
            Err(lost @ kinora_store::Error::LeaseLost) => return Err(lost.into()),
            Err(error) => {
                tracing::debug!(error = %error, upload.id = %lease.upload, "an upload was not renewed");
            }
            Ok(()) => {}
        }
    }
}

/// How a request fits what is kept.
struct Fits {
    /// Bytes of the body that are kept already.
    skip: u64,
    /// What the request says of the whole file.
    length: Option<u64>,
}

/// Whether a request can be received where the upload stands.
fn check<B>(append: &Append<B>, upload: &Upload, offset: u64) -> Result<Fits, IntakeError> {
    let end = append.body_len.map(|len| append.start.saturating_add(len));
    let length = append.length.or(end.filter(|_| append.is_last));
    if let Some(length) = length {
        upload.check_length(length, offset)?;
    }
    let known = length.or(upload.length);
    if let Some(length) = known.filter(|length| end.is_some_and(|end| end > *length)) {
        return Err(IntakeError::TooManyBytes { offset, length });
    }
    if let Some(max) = upload.size_max.filter(|max| end.is_some_and(|end| end > *max)) {
        return Err(LengthProblem::TooLarge { max }.into());
    }
    if append.start > offset || (append.start < offset && !append.may_overlap) {
        return Err(IntakeError::WrongOffset { offset, length: known });
    }
    if append.checksum.is_some() && append.body_len.is_some_and(|len| len > CHECKED_BYTES_MAX) {
        return Err(IntakeError::ChecksumTooLong { max: CHECKED_BYTES_MAX });
    }
    Ok(Fits { skip: offset - append.start, length })
}

/// What an upload that has ended answers to more bytes.
fn ended(upload: Upload) -> IntakeError {
    match upload.state {
        UploadState::Completed { .. } => IntakeError::Complete(Box::new(upload)),
        _ => IntakeError::Ended(Box::new(upload)),
    }
}

/// Whether nobody can go on with what this process remembers.
fn is_session_lost(error: &IntakeError) -> bool {
    use IntakeError::{Away, Busy, Full, Hopeless, Internal, Interrupted, Lost};

    matches!(error, Full { .. } | Away(_) | Internal(_) | Busy | Hopeless(_) | Interrupted { .. } | Lost)
}

/// What the owner is told of more bytes than may come.
fn too_large(max: u64) -> Failure {
    let remedy = if max == Upload::DEPRECATED_SIZE_MAX {
        "; uploads made by POST /v1/on-demand/upload have no limit"
    } else {
        ""
    };
    let sentence = format!("the file is larger than the {max} bytes that this upload takes{remedy}");
    Failure::new(FailureCode::SourceTooLarge, sentence)
}
