//! Receiving the bytes of one request.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use kinora_domain::{Failure, FailureCode, MediaId, Timestamp, Upload, UploadState};
use kinora_store::{UploadCancelled, UploadLease};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::body::{BodyEnd, BufferedBody, ExpectedBody, RENEW_EVERY, ReceivedBody};
use crate::intake::Inner;
use crate::session::{FLUSH_TIMEOUT, FlushOutcome, Opened, Session};
use crate::stall::StallGuarded;
use crate::upload_lock::{LockError, UploadGuard};
use crate::{Append, Checksum, Intake, IntakeError, UploadProgress, has_disk_space};

/// Time limit for an interrupted request to pass on its bytes. The next request waits longer to enter
/// (`LOCK_TIMEOUT` in `upload_lock.rs`).
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(5);
/// Cache duration of a session for the next request. It occupies an open file, or a part in memory.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(5);

/// The caller that queries the state of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requester {
    /// A client. The client or its process may be killed, so a maintenance job is scheduled.
    Client,
    /// The maintenance job, which reschedules itself.
    Job,
}

/// A request that has the lock of its upload, and its session while the upload is open.
pub(crate) struct ActiveRequest {
    pub(crate) guard: UploadGuard,
}

/// The result of opening an upload.
pub(crate) enum OpenOutcome {
    /// The upload is open, in the session of the request.
    Open,
    /// The upload accepts no more bytes, perhaps because it just timed out.
    Settled(Box<Upload>),
}

impl Intake {
    pub(crate) async fn find_progress(
        &self,
        id: MediaId,
        requester: Requester,
    ) -> Result<UploadProgress, IntakeError> {
        let mut active_request = self.lock_upload(id).await?;
        match self.open(&mut active_request, id, requester).await? {
            OpenOutcome::Settled(upload) => {
                active_request.guard.release();
                Ok(UploadProgress { offset: upload.offset(), upload: *upload })
            }
            OpenOutcome::Open => self.finish_or_progress(active_request).await,
        }
    }

    pub(crate) async fn announce_length(
        &self,
        id: MediaId,
        length: u64,
    ) -> Result<UploadProgress, IntakeError> {
        let now = self.0.options.clock.now();
        let upload = self
            .0
            .options
            .store
            .write(async move |tx| {
                let upload = tx.upload_by_id(id).await?.ok_or(IntakeError::NotFound)?;
                match announcement(upload, length, now)? {
                    Announcement::Known(upload) => Ok::<_, IntakeError>(upload),
                    Announcement::New(upload) => {
                        tx.save_upload(&upload).await?;
                        Ok(upload)
                    }
                }
            })
            .await?;
        Ok(UploadProgress { offset: upload.offset(), upload })
    }

    pub(crate) async fn cancel_upload(&self, id: MediaId) -> Result<Upload, IntakeError> {
        let now = self.0.options.clock.now();
        let cancelled = self
            .0
            .options
            .store
            .write(async move |tx| {
                let upload = tx.upload_by_id(id).await?.ok_or(IntakeError::NotFound)?;
                let before = upload.clone();
                match tx.cancel_upload(upload, now).await? {
                    UploadCancelled::Now(upload) => Ok(*upload),
                    UploadCancelled::WrongState(_) => Err(ended(before)),
                }
            })
            .await;
        self.0.upload_locks.interrupt(id);
        cancelled
    }

    pub(crate) async fn receive_body<B, E>(
        &self,
        id: MediaId,
        append: Append<B>,
    ) -> Result<UploadProgress, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let mut active_request = self.lock_upload(id).await?;
        if let OpenOutcome::Settled(upload) = self.open(&mut active_request, id, Requester::Client).await? {
            active_request.guard.release();
            return progress_of_settled(*upload, append.may_overlap);
        }
        match self.receive_locked(&mut active_request, append).await {
            Ok(()) => self.finish_or_progress(active_request).await,
            Err(error) => {
                let offset = active_request.offset();
                if is_session_lost(&error) {
                    *active_request.guard.session = None;
                }
                self.cache_session(active_request);
                Err(error.with_offset(offset))
            }
        }
    }

    /// Interrupts the request that receives the upload, and gets the lock after it.
    pub(crate) async fn lock_upload(&self, id: MediaId) -> Result<ActiveRequest, IntakeError> {
        match self.0.upload_locks.acquire(id).await {
            Ok(guard) => Ok(ActiveRequest { guard }),
            Err(LockError::Interrupted) => Err(IntakeError::Interrupted { offset: 0 }),
            Err(LockError::Busy) => Err(IntakeError::Busy),
        }
    }

    /// Opens the upload, unless it is settled or times out now.
    pub(crate) async fn open(
        &self,
        active_request: &mut ActiveRequest,
        id: MediaId,
        requester: Requester,
    ) -> Result<OpenOutcome, IntakeError> {
        let cached = active_request.guard.session.take();
        let session = match Session::open(&self.0, id, cached, requester).await? {
            Opened::Settled(upload) => return Ok(OpenOutcome::Settled(upload)),
            Opened::Open(session) => session,
        };
        let now = self.0.options.clock.now();
        if is_timed_out(&session.upload, session.growing.synced(), now) {
            let lease = session.lease;
            drop(session);
            let timed_out = self
                .0
                .options
                .store
                .write(async move |tx| {
                    let upload = tx.leased_upload(lease).await?;
                    tx.time_out_upload(upload, now).await
                })
                .await?;
            return Ok(OpenOutcome::Settled(Box::new(timed_out)));
        }
        *active_request.guard.session = Some(*session);
        Ok(OpenOutcome::Open)
    }

    /// Returns the state of an open upload; completes a fully received one first.
    async fn finish_or_progress(
        &self,
        mut active_request: ActiveRequest,
    ) -> Result<UploadProgress, IntakeError> {
        let session = active_request.session();
        // The written bytes are stored, except those of a complete file, which is finished next.
        let offset = session.growing.written();
        if is_complete(&session.upload, offset) {
            return self.complete(active_request).await;
        }
        let upload = session.upload.clone();
        self.cache_session(active_request);
        Ok(UploadProgress { upload, offset })
    }

    async fn receive_locked<B, E>(
        &self,
        active_request: &mut ActiveRequest,
        append: Append<B>,
    ) -> Result<(), IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let interrupted = active_request.guard.interrupted.clone();
        let session = active_request.session();
        let offset = session.growing.synced();
        let accepted = append.check_offset(&session.upload, offset)?;
        if let Some(length) = accepted.length {
            session.announce(&self.0, length).await?;
        }
        if is_complete(&session.upload, offset) {
            return Ok(()); // what comes again need not be read
        }
        let remaining = append.body_len.unwrap_or(0).saturating_sub(accepted.skip);
        if !has_disk_space(&self.0.options.blob, remaining).await? {
            return Err(IntakeError::DiskFull { offset });
        }
        let is_last = append.is_last;
        let ended = match append.checksum {
            None => self.receive_pieces(session, append, accepted.skip, &interrupted).await?,
            Some(checksum) => self.receive_with_checksum(session, append, checksum, &interrupted).await?,
        };
        let ended = self.persist_received(session, ended, is_last, &interrupted).await?;
        self.apply_outcome(session, ended, is_last).await
    }

    /// Receives a body piece by piece; the first `skip` bytes are stored already.
    async fn receive_pieces<B, E>(
        &self,
        session: &mut Session,
        append: Append<B>,
        skip: u64,
        interrupted: &CancellationToken,
    ) -> Result<BodyEnd, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let Append { start, is_last, body_len, .. } = append;
        let offset = session.growing.synced();
        let mut body = StallGuarded::new(append.body, self.0.options.stall_limit);
        let ended = self.read_body(session, &mut body, ExpectedBody { skip, body_len }, interrupted).await?;
        if ended != BodyEnd::Complete {
            return Ok(ended);
        }
        let received = ReceivedBody { start, len: body.received_bytes(), announced: body_len, is_last };
        Ok(received.body_end(offset)?)
    }

    /// Receives a body that is only written if its checksum matches.
    async fn receive_with_checksum<B, E>(
        &self,
        session: &mut Session,
        append: Append<B>,
        checksum: Checksum,
        interrupted: &CancellationToken,
    ) -> Result<BodyEnd, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let offset = session.growing.synced();
        let _memory = tokio::select! {
            biased;
            () = interrupted.cancelled() => return Err(IntakeError::Interrupted { offset }),
            memory = timeout(FLUSH_TIMEOUT, self.0.checksum_permits.acquire()) => {
                memory.map_err(|_| IntakeError::Busy)?.expect("the semaphore is never closed")
            }
        };
        let body = StallGuarded::new(append.body, self.0.options.stall_limit);
        let bytes = match self.buffer_body(session, body, append.body_len, interrupted).await? {
            BufferedBody::Ended(ended) => return Ok(ended),
            BufferedBody::All(bytes) => bytes,
        };
        if !checksum.matches(std::slice::from_ref(&bytes)) {
            return Err(IntakeError::BadChecksum { offset });
        }
        let pieces = stream::iter([Ok::<_, std::io::Error>(bytes)]);
        let mut body = StallGuarded::new(pieces, self.0.options.stall_limit);
        self.read_body(session, &mut body, ExpectedBody { skip: 0, body_len: None }, interrupted).await
    }

    /// Writes and stores all received bytes, however their body ended: they need not be sent again.
    async fn persist_received(
        &self,
        session: &mut Session,
        ended: BodyEnd,
        is_last: bool,
        interrupted: &CancellationToken,
    ) -> Result<BodyEnd, IntakeError> {
        let handover = async {
            interrupted.cancelled().await;
            sleep(HANDOVER_TIMEOUT).await;
        };
        let ended = match self.flush_until(session, handover).await? {
            FlushOutcome::Active => ended,
            FlushOutcome::Rejected => BodyEnd::Rejected,
        };
        // A complete file is finished next, which makes its bytes durable too.
        if !completes_file(&ended, is_last, session.upload.length, session.growing.written()) {
            self.persist(session).await?;
            session.write_checkpoint_if_due(&self.0).await;
        }
        Ok(ended)
    }

    /// Applies the outcome of a body whose bytes are stored.
    async fn apply_outcome(
        &self,
        session: &mut Session,
        ended: BodyEnd,
        is_last: bool,
    ) -> Result<(), IntakeError> {
        let offset = session.growing.written();
        match outcome(ended, is_last, &session.upload, offset)? {
            BodyOutcome::Received => Ok(()),
            BodyOutcome::Announce => session.announce(&self.0, offset).await,
            BodyOutcome::TooLarge { max } => Err(self.fail(session, too_large(max)).await?),
            BodyOutcome::Rejected => Err(self.fail_with_scan_error(session).await?),
        }
    }

    /// Passes on the received bytes. Waits for the disk, for memory in use by others, and for a scan permit.
    pub(crate) async fn flush(
        &self,
        session: &mut Session,
        interrupted: &CancellationToken,
    ) -> Result<FlushOutcome, IntakeError> {
        self.flush_until(session, interrupted.cancelled()).await
    }

    /// As [`flush`](Self::flush), and renews the upload meanwhile. Ends as interrupted when `end` is ready.
    async fn flush_until(
        &self,
        session: &mut Session,
        end: impl Future<Output = ()>,
    ) -> Result<FlushOutcome, IntakeError> {
        let lease = session.lease;
        let flushed = tokio::select! {
            biased;
            passed = with_renewal(&self.0, lease, session.flush(&self.0)) => Some(passed?),
            () = end => None,
        };
        flushed.unwrap_or_else(|| Err(IntakeError::Interrupted { offset: session.growing.synced() }))
    }

    /// Makes all received bytes durable, and records them.
    pub(crate) async fn persist(&self, session: &mut Session) -> Result<(), IntakeError> {
        session.growing.sync().await?;
        session.create_media_if_stored(self).await?;
        session.save_progress(&self.0, false).await
    }

    /// Caches the session for a short time: usually the next request follows at once.
    pub(crate) fn cache_session(&self, mut active_request: ActiveRequest) {
        let Some(session) = active_request.guard.session.as_mut() else {
            return active_request.guard.release();
        };
        session.idle_since = Instant::now();
        let id = session.upload.id;
        active_request.guard.release();
        let parts = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            sleep(SESSION_IDLE_MAX).await;
            if let Some(parts) = parts.upgrade()
                && let Some(mut session) = parts.upload_locks.try_acquire(id)
                && session.as_ref().is_some_and(|session| session.idle_since.elapsed() >= SESSION_IDLE_MAX)
            {
                if let Some(session) = session.as_mut()
                    && let Err(error) = session.save_progress(&parts, true).await
                {
                    // The file itself has the state; and a process that receives it elsewhere has recorded
                    // more.
                    tracing::debug!(error = %error, upload.id = %id, "the offset of an idle upload was not recorded");
                }
                *session = None;
                drop(session);
                parts.upload_locks.remove(id);
            }
        });
    }
}

impl ActiveRequest {
    /// The open upload.
    pub(crate) fn session(&mut self) -> &mut Session {
        self.guard.session.as_mut().expect("it was opened before")
    }

    fn offset(&self) -> u64 {
        self.guard.session.as_ref().map_or(0, |session| session.growing.synced())
    }
}

impl Session {
    /// Sets the length of the file, unless it is known.
    async fn announce(&mut self, parts: &Inner, length: u64) -> Result<(), IntakeError> {
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
                let upload = upload.set_length(length, now).map_err(|_| kinora_store::Error::LeaseLost)?;
                tx.save_upload(&upload).await?;
                Ok::<_, kinora_store::Error>(upload)
            })
            .await?;
        Ok(())
    }

    /// Creates the media with the first stored byte (C-6).
    pub(crate) async fn create_media_if_stored(&mut self, intake: &Intake) -> Result<(), IntakeError> {
        let synced = self.growing.synced();
        if synced == 0 || !matches!(self.upload.state, UploadState::Waiting) {
            return Ok(());
        }
        if self.upload.length == Some(self.growing.written()) {
            return Ok(()); // the commit that completes it does that too
        }
        let lease = self.lease;
        let intake = intake.clone();
        let store = intake.0.options.store.clone();
        self.upload = store
            .write(async move |tx| crate::complete::find_or_create_media(tx, &intake, lease, synced).await)
            .await?;
        Ok(())
    }

    /// Records progress in the row. In a folder, the file and its lock contain the state, so the row is
    /// renewed only periodically and at rest. In a bucket, bytes are safe only while no other process has
    /// the upload, so the row contains the state.
    async fn save_progress(&mut self, parts: &Inner, is_idle: bool) -> Result<(), IntakeError> {
        let UploadState::Uploading { stored: saved, stored_at: kept_at } = self.upload.state else {
            return Ok(());
        };
        let (synced, now) = (self.growing.synced(), parts.options.clock.now());
        let progress = UnsavedProgress { saved, synced, age_us: now.micros_since(kept_at), is_idle };
        if progress.is_due(parts.options.blob.is_shared(), self.upload.length) {
            parts.options.store.save_upload_offset(self.lease, synced, now).await?;
            self.upload.state = UploadState::Uploading { stored: synced, stored_at: now };
        }
        Ok(())
    }
}

/// Awaits `work`, which may wait minutes for a permit, and renews the upload until it is done.
///
/// Errors: `Interrupted` when another process has the upload. `work` is cancelled then.
pub(crate) async fn with_renewal<T>(
    parts: &Inner,
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
        match options.store.touch_upload(lease, options.clock.now()).await {
            Err(lost @ kinora_store::Error::LeaseLost) => return Err(lost.into()),
            Err(error) => {
                tracing::debug!(error = %error, upload.id = %lease.upload, "an upload was not renewed");
            }
            Ok(()) => {}
        }
    }
}

/// Progress of an upload beyond its row.
struct UnsavedProgress {
    /// Stored bytes according to the row.
    saved: u64,
    /// Stored bytes.
    synced: u64,
    /// Microseconds since the row was written.
    age_us: i64,
    /// Whether no request receives the upload any more.
    is_idle: bool,
}

impl UnsavedProgress {
    /// Whether the row must be written. `is_shared`: the objects are in a bucket. `length` is that of the
    /// file, once it is known.
    fn is_due(&self, is_shared: bool, length: Option<u64>) -> bool {
        let is_old = u128::try_from(self.age_us).unwrap_or(0) >= RENEW_EVERY.as_micros();
        // An announced length is compared with the row.
        self.saved < self.synced && (is_shared || is_old || self.is_idle || length.is_none())
    }
}

/// The effect of an announced length.
#[derive(Debug)]
enum Announcement {
    /// A new length; the upload must be saved.
    New(Upload),
    /// No change: the length was announced before.
    Known(Upload),
}

fn announcement(upload: Upload, length: u64, now: Timestamp) -> Result<Announcement, IntakeError> {
    if upload.is_settled() {
        return Err(ended(upload));
    }
    upload.check_length(length, upload.offset())?;
    if upload.length.is_some() {
        return Ok(Announcement::Known(upload));
    }
    Ok(Announcement::New(upload.set_length(length, now).map_err(|_| IntakeError::Busy)?))
}

/// Whether the whole file of an upload is stored.
fn is_complete(upload: &Upload, offset: u64) -> bool {
    upload.length == Some(offset) && offset > 0
}

/// Whether an upload with `offset` stored bytes ends because its deadline has passed.
///
/// A complete file is completed even after its deadline, but not without end if that fails repeatedly.
fn is_timed_out(upload: &Upload, offset: u64, now: Timestamp) -> bool {
    let can_complete = upload.length == Some(offset) && now < upload.claims().expires_at;
    !can_complete && upload.deadline().is_some_and(|deadline| deadline <= now)
}

/// Whether a body that ended like this completes its file, with `written` bytes received.
fn completes_file(ended: &BodyEnd, is_last: bool, length: Option<u64>, written: u64) -> bool {
    *ended == BodyEnd::Complete && length.map_or(is_last, |length| length == written)
}

/// The outcome of a body after its bytes are stored.
#[derive(Debug, PartialEq, Eq)]
enum BodyOutcome {
    /// No further action.
    Received,
    /// The file ends here, and its length was unknown: it is announced now.
    Announce,
    /// The upload fails: more than `max` bytes were received.
    TooLarge { max: u64 },
    /// The upload fails: its bytes are not a media file.
    Rejected,
}

/// `offset`: number of stored bytes of the file.
fn outcome(ended: BodyEnd, is_last: bool, upload: &Upload, offset: u64) -> Result<BodyOutcome, IntakeError> {
    match ended {
        BodyEnd::Complete => {}
        BodyEnd::Incomplete => return Err(IntakeError::Incomplete { offset }),
        BodyEnd::Stalled => return Err(IntakeError::Stalled { offset }),
        BodyEnd::Interrupted => return Err(IntakeError::Interrupted { offset }),
        BodyEnd::TooMany { length } => return Err(IntakeError::TooManyBytes { offset, length }),
        BodyEnd::TooLarge { max } => return Ok(BodyOutcome::TooLarge { max }),
        BodyEnd::Rejected => return Ok(BodyOutcome::Rejected),
    }
    match upload.length {
        _ if !is_last => Ok(BodyOutcome::Received),
        Some(length) if length > offset => Err(IntakeError::TooFewBytes { offset }),
        Some(_) => Ok(BodyOutcome::Received),
        None => {
            upload.check_length(offset, offset)?;
            Ok(BodyOutcome::Announce)
        }
    }
}

/// The result of sending bytes to a settled upload. A client that may repeat stored bytes gets a success:
/// all are stored.
fn progress_of_settled(upload: Upload, may_overlap: bool) -> Result<UploadProgress, IntakeError> {
    match upload.state {
        UploadState::Completed { .. } if may_overlap => {
            Ok(UploadProgress { offset: upload.offset(), upload })
        }
        _ => Err(ended(upload)),
    }
}

/// The error for sending bytes to an upload that has ended.
fn ended(upload: Upload) -> IntakeError {
    match upload.state {
        UploadState::Completed { .. } => IntakeError::Complete(Box::new(upload)),
        _ => IntakeError::Ended(Box::new(upload)),
    }
}

/// Whether the error makes the cached session unusable.
fn is_session_lost(error: &IntakeError) -> bool {
    use IntakeError::{Busy, BytesLost, DiskFull, Internal, Interrupted, Rejected, Unavailable};

    matches!(
        error,
        DiskFull { .. } | Unavailable(_) | Internal(_) | Busy | Rejected(_) | Interrupted { .. } | BytesLost
    )
}

/// The failure for too many bytes, for the owner.
fn too_large(max: u64) -> Failure {
    let remedy = if max == Upload::DEPRECATED_SIZE_MAX {
        "; use POST /v1/on-demand/upload, which has no limit"
    } else {
        ""
    };
    let sentence = format!("the file is larger than {max} bytes, the limit of this upload{remedy}");
    Failure::new(FailureCode::SourceTooLarge, sentence)
}

#[cfg(test)]
mod tests {
    use kinora_domain::LengthRejected;

    use super::*;
    use crate::fixture::{at, completed, uploading, waiting};

    /// Errors do not implement equality; their text contains every value.
    #[track_caller]
    fn assert_same<T: std::fmt::Debug>(found: &Result<T, IntakeError>, expected: &Result<T, IntakeError>) {
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }

    fn of_length(length: u64) -> Upload {
        Upload { length: Some(length), ..uploading(100, 1) }
    }

    #[test]
    fn each_end_of_a_body_has_one_outcome() {
        let check = |ended: BodyEnd, expected: Result<BodyOutcome, IntakeError>| {
            for is_last in [false, true] {
                assert_same(&outcome(ended.clone(), is_last, &of_length(500), 150), &expected);
            }
        };
        check(BodyEnd::Incomplete, Err(IntakeError::Incomplete { offset: 150 }));
        check(BodyEnd::Stalled, Err(IntakeError::Stalled { offset: 150 }));
        check(BodyEnd::Interrupted, Err(IntakeError::Interrupted { offset: 150 }));
        check(BodyEnd::TooMany { length: 500 }, Err(IntakeError::TooManyBytes { offset: 150, length: 500 }));
        check(BodyEnd::TooLarge { max: 400 }, Ok(BodyOutcome::TooLarge { max: 400 }));
        check(BodyEnd::Rejected, Ok(BodyOutcome::Rejected));
    }

    #[test]
    fn last_body_must_end_the_file() {
        let check =
            |is_last: bool, upload: Upload, offset: u64, expected: Result<BodyOutcome, IntakeError>| {
                assert_same(&outcome(BodyEnd::Complete, is_last, &upload, offset), &expected);
            };
        let limited = Upload { size_max: Some(150), ..uploading(100, 1) };
        check(false, of_length(500), 150, Ok(BodyOutcome::Received));
        check(false, uploading(100, 1), 150, Ok(BodyOutcome::Received));
        check(true, of_length(500), 499, Err(IntakeError::TooFewBytes { offset: 499 }));
        check(true, of_length(500), 500, Ok(BodyOutcome::Received));
        check(true, uploading(100, 1), 150, Ok(BodyOutcome::Announce));
        check(true, limited.clone(), 150, Ok(BodyOutcome::Announce));
        check(true, limited, 151, Err(LengthRejected::TooLarge { max: 150 }.into()));
        check(true, waiting(), 0, Err(LengthRejected::Empty.into()));
    }

    #[test]
    fn only_a_complete_final_body_completes_the_file() {
        let check = |ended: BodyEnd, is_last: bool, length: Option<u64>, expected: bool| {
            assert_eq!(
                completes_file(&ended, is_last, length, 150),
                expected,
                "{ended:?} {is_last} {length:?}"
            );
        };
        check(BodyEnd::Complete, false, Some(150), true);
        check(BodyEnd::Complete, true, Some(150), true);
        check(BodyEnd::Complete, true, Some(151), false);
        check(BodyEnd::Complete, true, None, true);
        check(BodyEnd::Complete, false, None, false);
        check(BodyEnd::Incomplete, true, Some(150), false);
        check(BodyEnd::Interrupted, true, None, false);
        check(BodyEnd::Rejected, false, Some(150), false);
    }

    #[test]
    fn upload_is_whole_at_its_announced_length() {
        let check = |length: Option<u64>, offset: u64, expected: bool| {
            assert_eq!(is_complete(&Upload { length, ..waiting() }, offset), expected, "{length:?} {offset}");
        };
        check(None, 0, false);
        check(None, 100, false);
        check(Some(100), 99, false);
        check(Some(100), 100, true);
        check(Some(0), 0, false); // no length is announced as 0
    }

    #[test]
    fn upload_times_out_at_its_deadline_unless_it_is_whole() {
        let week = i64::from(Upload::LIFE_MAX_S);
        let check = |upload: &Upload, offset: u64, now_s: i64, expected: bool| {
            assert_eq!(is_timed_out(upload, offset, at(now_s)), expected, "{:?} {now_s}", upload.state);
        };
        check(&waiting(), 0, 999, false);
        check(&waiting(), 0, 1000, true);
        check(&uploading(100, 500), 100, 1499, false);
        check(&uploading(100, 500), 100, 1500, true);
        let complete = Upload { length: Some(100), ..uploading(100, 500) };
        check(&complete, 99, 1500, true);
        check(&complete, 100, 1500, false);
        check(&complete, 100, week - 1, false);
        check(&complete, 100, week, true);
        check(&completed(100), 100, week, false); // it has no deadline
    }

    #[test]
    fn length_is_announced_once() {
        let check = |upload: Upload, length: u64, expected: Result<Announcement, IntakeError>| {
            assert_same(&announcement(upload, length, at(7)), &expected);
        };
        let announced = Upload { length: Some(500), updated_at: at(7), ..uploading(100, 1) };
        check(uploading(100, 1), 500, Ok(Announcement::New(announced)));
        check(of_length(500), 500, Ok(Announcement::Known(of_length(500))));
        check(of_length(500), 501, Err(LengthRejected::Changed { announced: 500 }.into()));
        check(uploading(100, 1), 99, Err(LengthRejected::BelowOffset { kept: 100 }.into()));
        check(waiting(), 0, Err(LengthRejected::Empty.into()));
        check(completed(100), 100, Err(IntakeError::Complete(Box::new(completed(100)))));
        let cancelled = waiting().cancel(at(2)).unwrap().0;
        check(cancelled.clone(), 100, Err(IntakeError::Ended(Box::new(cancelled))));
    }

    #[test]
    fn settled_upload_accepts_only_stored_bytes_again() {
        let check = |upload: Upload, may_overlap: bool, expected: Result<UploadProgress, IntakeError>| {
            assert_same(&progress_of_settled(upload, may_overlap), &expected);
        };
        check(completed(100), true, Ok(UploadProgress { upload: completed(100), offset: 100 }));
        check(completed(100), false, Err(IntakeError::Complete(Box::new(completed(100)))));
        let failure = Failure::new(FailureCode::NotMedia, "no media");
        for settled in [
            waiting().cancel(at(2)).unwrap().0,
            waiting().time_out(at(2)).unwrap(),
            uploading(100, 1).fail(failure, at(2)).unwrap(),
        ] {
            for may_overlap in [false, true] {
                check(settled.clone(), may_overlap, Err(IntakeError::Ended(Box::new(settled.clone()))));
            }
        }
    }

    #[test]
    fn progress_row_is_written_when_stale_idle_or_shared() {
        // Length of the file announced, objects in a folder.
        let progress = || UnsavedProgress { saved: 100, synced: 150, age_us: 4_999_999, is_idle: false };
        let check = |note: UnsavedProgress, is_shared: bool, length: Option<u64>, expected: bool| {
            assert_eq!(note.is_due(is_shared, length), expected, "{} {is_shared} {length:?}", note.age_us);
        };
        check(progress(), false, Some(500), false);
        check(UnsavedProgress { age_us: 5_000_000, ..progress() }, false, Some(500), true);
        // The clocks of two machines differ.
        check(UnsavedProgress { age_us: -1, ..progress() }, false, Some(500), false);
        check(UnsavedProgress { is_idle: true, ..progress() }, false, Some(500), true);
        check(progress(), true, Some(500), true);
        check(progress(), false, None, true);
        let nothing_new = UnsavedProgress { synced: 100, age_us: i64::MAX, is_idle: true, ..progress() };
        check(nothing_new, true, None, false);
    }

    #[test]
    fn session_survives_client_errors() {
        let check = |error: IntakeError, is_lost: bool| {
            assert_eq!(is_session_lost(&error), is_lost, "{error:?}");
        };
        let cause = || "broken".into();
        check(IntakeError::NotFound, false);
        check(IntakeError::Ended(Box::new(waiting())), false);
        check(IntakeError::Complete(Box::new(completed(1))), false);
        check(IntakeError::WrongOffset { offset: 1, length: None }, false);
        check(IntakeError::Length(LengthRejected::Empty), false);
        check(IntakeError::TooManyBytes { offset: 1, length: 2 }, false);
        check(IntakeError::TooFewBytes { offset: 1 }, false);
        check(IntakeError::BadChecksum { offset: 1 }, false);
        check(IntakeError::ChecksumTooLong { max: 1 }, false);
        check(IntakeError::Incomplete { offset: 1 }, false);
        check(IntakeError::Stalled { offset: 1 }, false);
        check(IntakeError::Rejected(too_large(1)), true);
        check(IntakeError::Interrupted { offset: 1 }, true);
        check(IntakeError::DiskFull { offset: 1 }, true);
        check(IntakeError::Busy, true);
        check(IntakeError::Unavailable(cause()), true);
        check(IntakeError::BytesLost, true);
        check(IntakeError::Internal(cause()), true);
    }

    #[test]
    fn too_large_error_of_deprecated_upload_names_current_path() {
        let check = |max: u64, sentence: &str| {
            assert_eq!(too_large(max), Failure::new(FailureCode::SourceTooLarge, sentence));
        };
        check(7, "the file is larger than 7 bytes, the limit of this upload");
        check(
            500_000_000,
            "the file is larger than 500000000 bytes, the limit of this upload; use POST /v1/on-demand/upload, which \
             has no limit",
        );
    }
}
