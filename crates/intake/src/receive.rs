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

use crate::body::{Came, Collected, Ended, Expected, RENEW_EVERY};
use crate::intake::Parts;
use crate::pace::Paced;
use crate::session::{Opened, Passed, STUCK_MAX, Session};
use crate::slot::{Entered, NotEntered};
use crate::{Append, Checksum, Intake, IntakeError, Standing, has_room};

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

/// An upload that was to be opened.
pub(crate) enum Opening {
    /// It is open, in the session of the request.
    Open,
    /// Nothing more can come, perhaps because its deadline was just found to be over.
    Settled(Box<Upload>),
}

impl Intake {
    pub(crate) async fn find_standing(&self, id: MediaId, asking: Asking) -> Result<Standing, IntakeError> {
        let mut receiving = self.enter(id).await?;
        match self.open(&mut receiving, id, asking).await? {
            Opening::Settled(upload) => {
                receiving.entered.leave();
                Ok(Standing { offset: upload.kept(), upload: *upload })
            }
            Opening::Open => self.stand(receiving).await,
        }
    }

    pub(crate) async fn announce_length(&self, id: MediaId, length: u64) -> Result<Standing, IntakeError> {
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
        Ok(Standing { offset: upload.kept(), upload })
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
        self.0.slots.interrupt(id);
        cancelled
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
        if let Opening::Settled(upload) = self.open(&mut receiving, id, Asking::Client).await? {
            receiving.entered.leave();
            return standing_of_settled(*upload, append.may_overlap);
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

    /// Opens the upload, unless it is settled or times out with this.
    pub(crate) async fn open(
        &self,
        receiving: &mut Receiving,
        id: MediaId,
        asking: Asking,
    ) -> Result<Opening, IntakeError> {
        let left = receiving.entered.session.take();
        let session = match Session::open(&self.0, id, left, asking).await? {
            Opened::Settled(upload) => return Ok(Opening::Settled(upload)),
            Opened::Open(session) => session,
        };
        let now = self.0.options.clock.now();
        if is_timed_out(&session.upload, session.growing.kept(), now) {
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
            return Ok(Opening::Settled(Box::new(late)));
        }
        *receiving.entered.session = Some(*session);
        Ok(Opening::Open)
    }

    /// Answers where an open upload stands; one that is whole is completed first.
    async fn stand(&self, mut receiving: Receiving) -> Result<Standing, IntakeError> {
        let session = receiving.session();
        // All of it is kept, but what is whole.
        let offset = session.growing.written();
        if is_whole(&session.upload, offset) {
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
        let fits = append.fits(&session.upload, offset)?;
        if let Some(length) = fits.length {
            session.announce(&self.0, length).await?;
        }
        if is_whole(&session.upload, offset) {
            return Ok(()); // what comes again need not be read
        }
        let to_come = append.body_len.unwrap_or(0).saturating_sub(fits.skip);
        if !has_room(&self.0.options.blob, to_come).await? {
            return Err(IntakeError::Full { offset });
        }
        let is_last = append.is_last;
        let ended = match append.checksum {
            None => self.receive_pieces(session, append, fits.skip, &interrupted).await?,
            Some(checksum) => self.receive_checked(session, append, checksum, &interrupted).await?,
        };
        let ended = self.keep_received(session, ended, is_last, &interrupted).await?;
        self.conclude(session, ended, is_last).await
    }

    /// Receives a body piece by piece; the first `skip` bytes are kept already.
    async fn receive_pieces<B, E>(
        &self,
        session: &mut Session,
        append: Append<B>,
        skip: u64,
        interrupted: &CancellationToken,
    ) -> Result<Ended, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let Append { start, is_last, body_len, .. } = append;
        let kept = session.growing.kept();
        let mut body = Paced::new(append.body, self.0.options.pace_min);
        let ended = self.take_body(session, &mut body, Expected { skip, body_len }, interrupted).await?;
        if ended != Ended::Whole {
            return Ok(ended);
        }
        let came = Came { start, len: body.total(), announced: body_len, is_last };
        Ok(came.judge(kept)?)
    }

    /// Receives a body that is only written when its checksum matches.
    async fn receive_checked<B, E>(
        &self,
        session: &mut Session,
        append: Append<B>,
        checksum: Checksum,
        interrupted: &CancellationToken,
    ) -> Result<Ended, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let offset = session.growing.kept();
        let _memory = tokio::select! {
            biased;
            () = interrupted.cancelled() => return Err(IntakeError::Interrupted { offset }),
            memory = timeout(STUCK_MAX, self.0.checked.acquire()) => {
                memory.map_err(|_| IntakeError::Busy)?.expect("the semaphore is never closed")
            }
        };
        let body = Paced::new(append.body, self.0.options.pace_min);
        let bytes = match self.collect(session, body, append.body_len, interrupted).await? {
            Collected::Ended(ended) => return Ok(ended),
            Collected::All(bytes) => bytes,
        };
        if !checksum.holds(std::slice::from_ref(&bytes)) {
            return Err(IntakeError::BadChecksum { offset });
        }
        let pieces = stream::iter([Ok::<_, std::io::Error>(bytes)]);
        let mut body = Paced::new(pieces, self.0.options.pace_min);
        self.take_body(session, &mut body, Expected { skip: 0, body_len: None }, interrupted).await
    }

    /// Writes and keeps all bytes that came, however their body ended: they need not be sent again.
    async fn keep_received(
        &self,
        session: &mut Session,
        ended: Ended,
        is_last: bool,
        interrupted: &CancellationToken,
    ) -> Result<Ended, IntakeError> {
        let leaves = async {
            interrupted.cancelled().await;
            sleep(LEAVE_WITHIN).await;
        };
        let ended = match self.pass_on_until(session, leaves).await? {
            Passed::On => ended,
            Passed::Hopeless => Ended::Hopeless,
        };
        // What is whole gets its name next, which keeps it as well.
        if !completes(&ended, is_last, session.upload.length, session.growing.written()) {
            self.keep(session).await?;
            session.write_checkpoint_if_due(&self.0).await;
        }
        Ok(ended)
    }

    /// Carries out what follows from a body whose bytes are kept.
    async fn conclude(&self, session: &mut Session, ended: Ended, is_last: bool) -> Result<(), IntakeError> {
        let offset = session.growing.written();
        match outcome(ended, is_last, &session.upload, offset)? {
            Outcome::Received => Ok(()),
            Outcome::Announce => session.announce(&self.0, offset).await,
            Outcome::TooLarge { max } => Err(self.fail(session, too_large(max)).await?),
            Outcome::Hopeless => Err(self.fail_as_read(session).await?),
        }
    }

    /// Passes on what was taken. It waits for the disk, for memory that others hold, and for the scan's turn.
    pub(crate) async fn pass_on(
        &self,
        session: &mut Session,
        interrupted: &CancellationToken,
    ) -> Result<Passed, IntakeError> {
        self.pass_on_until(session, interrupted.cancelled()).await
    }

    /// The same. Renews the upload, and gives up when `end` is ready.
    async fn pass_on_until(
        &self,
        session: &mut Session,
        end: impl Future<Output = ()>,
    ) -> Result<Passed, IntakeError> {
        let lease = session.lease;
        let passed = tokio::select! {
            biased;
            passed = renewing(&self.0, lease, session.pass_on(&self.0)) => Some(passed?),
            () = end => None,
        };
        passed.unwrap_or_else(|| Err(IntakeError::Interrupted { offset: session.growing.kept() }))
    }

    /// Makes all that came outlive this process, and writes it down.
    pub(crate) async fn keep(&self, session: &mut Session) -> Result<(), IntakeError> {
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

    /// The media is there from the first byte that is kept (C-6).
    pub(crate) async fn begin_if_kept(&mut self, intake: &Intake) -> Result<(), IntakeError> {
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

    /// A file tells itself what of it is kept, and its lock who writes it: in a folder the row is renewed now
    /// and then, and at rest. What is in a bucket is only kept while nobody else has the upload, and the row
    /// knows.
    async fn note_kept(&mut self, parts: &Parts, is_at_rest: bool) -> Result<(), IntakeError> {
        let UploadState::Uploading { kept: noted, kept_at } = self.upload.state else { return Ok(()) };
        let (kept, now) = (self.growing.kept(), parts.options.clock.now());
        let note = Note { noted, kept, age_us: now.micros_since(kept_at), is_at_rest };
        if note.is_due(parts.options.blob.is_shared(), self.upload.length) {
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

/// How far an upload has come beyond its row.
struct Note {
    /// Bytes that the row says are kept.
    noted: u64,
    /// Bytes that are kept.
    kept: u64,
    /// Microseconds since the row was written.
    age_us: i64,
    /// No request receives the upload any more.
    is_at_rest: bool,
}

impl Note {
    /// Whether the row is to be written. `is_shared`: the objects lie in a bucket. `length` is that of the
    /// file, once it is known.
    fn is_due(&self, is_shared: bool, length: Option<u64>) -> bool {
        let is_old = u128::try_from(self.age_us).unwrap_or(0) >= RENEW_EVERY.as_micros();
        // An announced length is held against the row.
        self.noted < self.kept && (is_shared || is_old || self.is_at_rest || length.is_none())
    }
}

/// What an announcement of the length of an upload changes.
#[derive(Debug)]
enum Announcement {
    /// This is to be saved.
    New(Upload),
    /// Nothing: the length was announced before.
    Known(Upload),
}

fn announcement(upload: Upload, length: u64, now: Timestamp) -> Result<Announcement, IntakeError> {
    if upload.is_settled() {
        return Err(ended(upload));
    }
    upload.check_length(length, upload.kept())?;
    if upload.length.is_some() {
        return Ok(Announcement::Known(upload));
    }
    Ok(Announcement::New(upload.announce(length, now).map_err(|_| IntakeError::Busy)?))
}

/// Whether the whole file of an upload is kept.
fn is_whole(upload: &Upload, kept: u64) -> bool {
    upload.length == Some(kept) && kept > 0
}

/// Whether an upload of which `kept` bytes are kept ends because its deadline is over.
///
/// What is whole is completed, however late, but not for ever where that fails again and again.
fn is_timed_out(upload: &Upload, kept: u64, now: Timestamp) -> bool {
    let can_complete = upload.length == Some(kept) && now < upload.ticket().expires_at;
    !can_complete && upload.deadline().is_some_and(|deadline| deadline <= now)
}

/// Whether a body that ended like this completes its file, of which `written` bytes came.
fn completes(ended: &Ended, is_last: bool, length: Option<u64>, written: u64) -> bool {
    *ended == Ended::Whole && length.map_or(is_last, |length| length == written)
}

/// What follows from a body after its bytes are kept.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing more.
    Received,
    /// The file ends here, and its length was not known: it is announced.
    Announce,
    /// The upload fails: more than `max` bytes came.
    TooLarge { max: u64 },
    /// The upload fails: its bytes are no media.
    Hopeless,
}

/// `offset`: bytes of the file that are kept now.
fn outcome(ended: Ended, is_last: bool, upload: &Upload, offset: u64) -> Result<Outcome, IntakeError> {
    match ended {
        Ended::Whole => {}
        Ended::Broken => return Err(IntakeError::Broken { offset }),
        Ended::Slow => return Err(IntakeError::Slow { offset }),
        Ended::Interrupted => return Err(IntakeError::Interrupted { offset }),
        Ended::TooMany { length } => return Err(IntakeError::TooManyBytes { offset, length }),
        Ended::TooLarge { max } => return Ok(Outcome::TooLarge { max }),
        Ended::Hopeless => return Ok(Outcome::Hopeless),
    }
    match upload.length {
        _ if !is_last => Ok(Outcome::Received),
        Some(length) if length > offset => Err(IntakeError::TooFewBytes { offset }),
        Some(_) => Ok(Outcome::Received),
        None => {
            upload.check_length(offset, offset)?;
            Ok(Outcome::Announce)
        }
    }
}

/// What a settled upload answers to more bytes. A client that may send kept bytes again is told that all are
/// kept.
fn standing_of_settled(upload: Upload, may_overlap: bool) -> Result<Standing, IntakeError> {
    match upload.state {
        UploadState::Completed { .. } if may_overlap => Ok(Standing { offset: upload.kept(), upload }),
        _ => Err(ended(upload)),
    }
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

#[cfg(test)]
mod tests {
    use kinora_domain::LengthProblem;

    use super::*;
    use crate::fixture::{at, completed, uploading, waiting};

    /// Errors have no equality; their text holds every value.
    #[track_caller]
    fn assert_same<T: std::fmt::Debug>(found: &Result<T, IntakeError>, expected: &Result<T, IntakeError>) {
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }

    fn of_length(length: u64) -> Upload {
        Upload { length: Some(length), ..uploading(100, 1) }
    }

    #[test]
    fn each_end_of_a_body_has_one_outcome() {
        let check = |ended: Ended, expected: Result<Outcome, IntakeError>| {
            for is_last in [false, true] {
                assert_same(&outcome(ended.clone(), is_last, &of_length(500), 150), &expected);
            }
        };
        check(Ended::Broken, Err(IntakeError::Broken { offset: 150 }));
        check(Ended::Slow, Err(IntakeError::Slow { offset: 150 }));
        check(Ended::Interrupted, Err(IntakeError::Interrupted { offset: 150 }));
        check(Ended::TooMany { length: 500 }, Err(IntakeError::TooManyBytes { offset: 150, length: 500 }));
        check(Ended::TooLarge { max: 400 }, Ok(Outcome::TooLarge { max: 400 }));
        check(Ended::Hopeless, Ok(Outcome::Hopeless));
    }

    #[test]
    fn last_body_must_end_the_file() {
        let check = |is_last: bool, upload: Upload, offset: u64, expected: Result<Outcome, IntakeError>| {
            assert_same(&outcome(Ended::Whole, is_last, &upload, offset), &expected);
        };
        let limited = Upload { size_max: Some(150), ..uploading(100, 1) };
        check(false, of_length(500), 150, Ok(Outcome::Received));
        check(false, uploading(100, 1), 150, Ok(Outcome::Received));
        check(true, of_length(500), 499, Err(IntakeError::TooFewBytes { offset: 499 }));
        check(true, of_length(500), 500, Ok(Outcome::Received));
        check(true, uploading(100, 1), 150, Ok(Outcome::Announce));
        check(true, limited.clone(), 150, Ok(Outcome::Announce));
        check(true, limited, 151, Err(LengthProblem::TooLarge { max: 150 }.into()));
        check(true, waiting(), 0, Err(LengthProblem::Empty.into()));
    }

    #[test]
    fn only_a_complete_body_up_to_the_end_completes_the_file() {
        let check = |ended: Ended, is_last: bool, length: Option<u64>, expected: bool| {
            assert_eq!(completes(&ended, is_last, length, 150), expected, "{ended:?} {is_last} {length:?}");
        };
        check(Ended::Whole, false, Some(150), true);
        check(Ended::Whole, true, Some(150), true);
        check(Ended::Whole, true, Some(151), false);
        check(Ended::Whole, true, None, true);
        check(Ended::Whole, false, None, false);
        check(Ended::Broken, true, Some(150), false);
        check(Ended::Interrupted, true, None, false);
        check(Ended::Hopeless, false, Some(150), false);
    }

    #[test]
    fn upload_is_whole_at_its_announced_length() {
        let check = |length: Option<u64>, kept: u64, expected: bool| {
            assert_eq!(is_whole(&Upload { length, ..waiting() }, kept), expected, "{length:?} {kept}");
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
        let check = |upload: &Upload, kept: u64, now_s: i64, expected: bool| {
            assert_eq!(is_timed_out(upload, kept, at(now_s)), expected, "{:?} {now_s}", upload.state);
        };
        check(&waiting(), 0, 999, false);
        check(&waiting(), 0, 1000, true);
        check(&uploading(100, 500), 100, 1499, false);
        check(&uploading(100, 500), 100, 1500, true);
        let whole = Upload { length: Some(100), ..uploading(100, 500) };
        check(&whole, 99, 1500, true);
        check(&whole, 100, 1500, false);
        check(&whole, 100, week - 1, false);
        check(&whole, 100, week, true);
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
        check(of_length(500), 501, Err(LengthProblem::Changed { announced: 500 }.into()));
        check(uploading(100, 1), 99, Err(LengthProblem::BelowKept { kept: 100 }.into()));
        check(waiting(), 0, Err(LengthProblem::Empty.into()));
        check(completed(100), 100, Err(IntakeError::Complete(Box::new(completed(100)))));
        let cancelled = waiting().cancel(at(2)).unwrap().0;
        check(cancelled.clone(), 100, Err(IntakeError::Ended(Box::new(cancelled))));
    }

    #[test]
    fn settled_upload_accepts_no_bytes_but_kept_ones_again() {
        let check = |upload: Upload, may_overlap: bool, expected: Result<Standing, IntakeError>| {
            assert_same(&standing_of_settled(upload, may_overlap), &expected);
        };
        check(completed(100), true, Ok(Standing { upload: completed(100), offset: 100 }));
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
    fn row_is_written_when_it_is_old_or_nothing_else_knows() {
        // Length of the file announced, objects in a folder.
        let note = || Note { noted: 100, kept: 150, age_us: 4_999_999, is_at_rest: false };
        let check = |note: Note, is_shared: bool, length: Option<u64>, expected: bool| {
            assert_eq!(note.is_due(is_shared, length), expected, "{} {is_shared} {length:?}", note.age_us);
        };
        check(note(), false, Some(500), false);
        check(Note { age_us: 5_000_000, ..note() }, false, Some(500), true);
        check(Note { age_us: -1, ..note() }, false, Some(500), false); // clocks of two machines differ
        check(Note { is_at_rest: true, ..note() }, false, Some(500), true);
        check(note(), true, Some(500), true);
        check(note(), false, None, true);
        let nothing_new = Note { kept: 100, age_us: i64::MAX, is_at_rest: true, ..note() };
        check(nothing_new, true, None, false);
    }

    #[test]
    fn session_survives_what_the_client_did() {
        let check = |error: IntakeError, is_lost: bool| {
            assert_eq!(is_session_lost(&error), is_lost, "{error:?}");
        };
        let cause = || "broken".into();
        check(IntakeError::NotFound, false);
        check(IntakeError::Ended(Box::new(waiting())), false);
        check(IntakeError::Complete(Box::new(completed(1))), false);
        check(IntakeError::WrongOffset { offset: 1, length: None }, false);
        check(IntakeError::Length(LengthProblem::Empty), false);
        check(IntakeError::TooManyBytes { offset: 1, length: 2 }, false);
        check(IntakeError::TooFewBytes { offset: 1 }, false);
        check(IntakeError::BadChecksum { offset: 1 }, false);
        check(IntakeError::ChecksumTooLong { max: 1 }, false);
        check(IntakeError::Broken { offset: 1 }, false);
        check(IntakeError::Slow { offset: 1 }, false);
        check(IntakeError::Hopeless(too_large(1)), true);
        check(IntakeError::Interrupted { offset: 1 }, true);
        check(IntakeError::Full { offset: 1 }, true);
        check(IntakeError::Busy, true);
        check(IntakeError::Away(cause()), true);
        check(IntakeError::Lost, true);
        check(IntakeError::Internal(cause()), true);
    }

    #[test]
    fn size_failure_names_the_way_without_a_limit_to_deprecated_uploads() {
        let check = |max: u64, sentence: &str| {
            assert_eq!(too_large(max), Failure::new(FailureCode::SourceTooLarge, sentence));
        };
        check(7, "the file is larger than the 7 bytes that this upload takes");
        check(
            500_000_000,
            "the file is larger than the 500000000 bytes that this upload takes; uploads made by POST \
             /v1/on-demand/upload have no limit",
        );
    }
}
