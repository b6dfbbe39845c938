//! Reading the body of one request into the session of its upload.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use kinora_domain::{LengthProblem, MediaId, Upload, UploadState};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::checksum::CHECKED_BYTES_MAX;
use crate::pace::{Paced, TooSlow};
use crate::session::{Passed, Session};
use crate::{Intake, IntakeError, ROOM_EVERY_BYTES, has_room};

/// How often the row is told how far a request has come, which renews the upload.
pub(crate) const RENEW_EVERY: Duration = Duration::from_secs(5);
/// The same for the first time, from which on there is a media: somebody waits for its event.
const BEGIN_WITHIN: Duration = Duration::from_millis(500);

/// How the body of a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As announced.
    Whole,
    /// The connection broke, or the body was shorter than announced.
    Broken,
    /// Its bytes came too slowly.
    Slow,
    /// A newer request receives the upload.
    Interrupted,
    /// It has more bytes than the `length` of the body or file that was announced.
    TooMany { length: u64 },
    /// It has more bytes than the upload may have.
    TooLarge { max: u64 },
    /// The scanner gave up.
    Hopeless,
}

/// A body that was held in memory.
pub(crate) enum Collected {
    /// All of it.
    All(Bytes),
    /// It ended early.
    Ended(Ended),
}

/// What is expected of the rest of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    /// Bytes at its start that are kept already.
    pub(crate) skip: u64,
    /// Its length, if the request says so.
    pub(crate) body_len: Option<u64>,
}

impl Expected {
    /// The new bytes of a piece, or how the body ends with it: then nothing of the piece is taken.
    ///
    /// `total` counts the bytes of the body with this piece, `taken` those of the file before it.
    fn new_bytes(
        &mut self,
        mut piece: Bytes,
        total: u64,
        upload: &Upload,
        taken: u64,
    ) -> Result<Bytes, Ended> {
        if let Some(length) = self.body_len.filter(|len| total > *len) {
            return Err(Ended::TooMany { length });
        }
        let known = self.skip.min(piece.len() as u64);
        self.skip -= known;
        let new = piece.split_off(usize::try_from(known).unwrap_or(usize::MAX));
        let end = taken + new.len() as u64;
        if let Some(length) = upload.length.filter(|length| end > *length) {
            return Err(Ended::TooMany { length });
        }
        if let Some(max) = upload.size_max.filter(|max| end > *max) {
            return Err(Ended::TooLarge { max });
        }
        Ok(new)
    }
}

/// A body that came to its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came {
    /// Where its first byte belongs in the file.
    pub(crate) start: u64,
    /// Its bytes.
    pub(crate) len: u64,
    /// Its length, if the request said so.
    pub(crate) announced: Option<u64>,
    /// Whether the request said that the file ends with it.
    pub(crate) is_last: bool,
}

impl Came {
    /// How it ended, where `kept` bytes of the file were kept before it came.
    pub(crate) fn judge(self, kept: u64) -> Result<Ended, LengthProblem> {
        if self.is_last && self.start.saturating_add(self.len) < kept {
            return Err(LengthProblem::BelowKept { kept });
        }
        let is_short = self.announced.is_some_and(|announced| announced != self.len);
        Ok(if is_short { Ended::Broken } else { Ended::Whole })
    }
}

/// What a request does next.
enum Next {
    /// Takes these bytes.
    Take(Bytes),
    /// Passes on the batch, which waited long enough.
    PassOn,
    /// Renews the upload.
    Renew,
    /// Ends.
    End(Ended),
}

impl Intake {
    /// Takes the body until it ends or nothing more may be taken.
    pub(crate) async fn take_body<B, E>(
        &self,
        session: &mut Session,
        body: &mut Paced<B>,
        mut expected: Expected,
        interrupted: &CancellationToken,
    ) -> Result<Ended, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let mut renew_at = Instant::now() + first_renewal(&session.upload.state);
        let mut looked_at = session.taken();
        loop {
            match next(session.upload.id, body, session.due(), renew_at, interrupted).await {
                Next::End(ended) => return Ok(ended),
                Next::Renew => {
                    if let Passed::Hopeless = self.pass_on(session, interrupted).await? {
                        return Ok(Ended::Hopeless);
                    }
                    self.keep(session).await?;
                    renew_at = Instant::now() + RENEW_EVERY;
                    continue;
                }
                Next::Take(piece) => {
                    match expected.new_bytes(piece, body.total(), &session.upload, session.taken()) {
                        Err(ended) => return Ok(ended),
                        Ok(new) if new.is_empty() => continue,
                        Ok(new) => session.take(new),
                    }
                    if !session.has_full_batch() {
                        continue;
                    }
                }
                Next::PassOn => {}
            }
            if let Passed::Hopeless = self.pass_on(session, interrupted).await? {
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

    /// Holds a body in memory until it has ended. Only a complete one is held against its checksum.
    pub(crate) async fn collect<B, E>(
        &self,
        session: &Session,
        mut body: Paced<B>,
        body_len: Option<u64>,
        interrupted: &CancellationToken,
    ) -> Result<Collected, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let mut held = BytesMut::new();
        let mut renew_at = Instant::now() + RENEW_EVERY;
        loop {
            let next = tokio::select! {
                biased;
                () = interrupted.cancelled() => return Ok(Collected::Ended(Ended::Interrupted)),
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
                Err(TooSlow) => return Ok(Collected::Ended(Ended::Slow)),
                Ok(Some(Err(_))) => return Ok(Collected::Ended(Ended::Broken)),
                Ok(Some(Ok(bytes))) => {
                    if body.total() > CHECKED_BYTES_MAX {
                        return Err(IntakeError::ChecksumTooLong { max: CHECKED_BYTES_MAX });
                    }
                    held.extend_from_slice(&bytes);
                }
                Ok(None) if body_len.is_some_and(|body_len| body_len != body.total()) => {
                    return Ok(Collected::Ended(Ended::Broken));
                }
                Ok(None) => return Ok(Collected::All(held.freeze())),
            }
        }
    }
}

/// Waits for what comes first: an interruption, the end of the batch's wait at `due`, the renewal, or the
/// body.
async fn next<B, E>(
    upload: MediaId,
    body: &mut Paced<B>,
    due: Option<Instant>,
    renew_at: Instant,
    interrupted: &CancellationToken,
) -> Next
where
    B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
    E: std::error::Error + Send + Sync + 'static,
{
    let piece = tokio::select! {
        biased;
        () = interrupted.cancelled() => return Next::End(Ended::Interrupted),
        () = sleep_until(due.unwrap_or(renew_at)), if due.is_some() => return Next::PassOn,
        () = sleep_until(renew_at) => return Next::Renew,
        piece = body.next() => piece,
    };
    match piece {
        Err(TooSlow) => Next::End(Ended::Slow),
        Ok(None) => Next::End(Ended::Whole),
        Ok(Some(Ok(bytes))) => Next::Take(bytes),
        Ok(Some(Err(error))) => {
            tracing::debug!(error = %error, upload.id = %upload, "the body of an upload broke off");
            Next::End(Ended::Broken)
        }
    }
}

/// How long after its begin a request renews its upload for the first time.
fn first_renewal(state: &UploadState) -> Duration {
    if matches!(state, UploadState::Waiting) { BEGIN_WITHIN } else { RENEW_EVERY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{uploading, waiting};

    /// Pieces of one body, each with what is taken of it, until the body ends.
    #[track_caller]
    fn check(upload: &Upload, expected: Expected, pieces: &[(&'static str, Result<&str, Ended>)]) {
        let (mut rest, mut total, mut taken) = (expected.clone(), 0, upload.kept());
        for (piece, answer) in pieces {
            total += piece.len() as u64;
            let new = rest.new_bytes(Bytes::from_static(piece.as_bytes()), total, upload, taken);
            let text = new.as_ref().map(|new| std::str::from_utf8(new).unwrap());
            assert_eq!(text, answer.as_deref(), "{piece} of {expected:?}");
            taken += new.map_or(0, |new| new.len() as u64);
        }
    }

    fn expected(skip: u64, body_len: Option<u64>) -> Expected {
        Expected { skip, body_len }
    }

    #[test]
    fn bytes_that_are_kept_are_skipped_across_pieces() {
        let upload = uploading(100, 1);
        check(&upload, expected(0, None), &[("abc", Ok("abc")), ("", Ok("")), ("d", Ok("d"))]);
        check(&upload, expected(2, None), &[("abc", Ok("c")), ("d", Ok("d"))]);
        check(&upload, expected(3, None), &[("abc", Ok("")), ("d", Ok("d"))]);
        check(&upload, expected(5, None), &[("abc", Ok("")), ("def", Ok("f")), ("g", Ok("g"))]);
    }

    #[test]
    fn piece_beyond_the_announced_body_is_not_taken() {
        let upload = uploading(100, 1);
        let too_many = || Err(Ended::TooMany { length: 4 });
        check(&upload, expected(0, Some(4)), &[("abc", Ok("abc")), ("d", Ok("d")), ("e", too_many())]);
        check(&upload, expected(0, Some(4)), &[("abc", Ok("abc")), ("de", too_many())]);
        check(&upload, expected(9, Some(4)), &[("abcde", too_many())]); // skipped bytes count
    }

    #[test]
    fn piece_beyond_the_file_or_the_size_limit_is_not_taken() {
        let of = |length, size_max| Upload { length, size_max, ..uploading(100, 1) };
        let too_many = || Err(Ended::TooMany { length: 104 });
        let too_large = || Err(Ended::TooLarge { max: 104 });
        let (known, limited) = (of(Some(104), None), of(None, Some(104)));
        check(&known, expected(0, None), &[("abc", Ok("abc")), ("d", Ok("d")), ("e", too_many())]);
        check(&known, expected(2, None), &[("abcdef", Ok("cdef"))]); // skipped bytes do not count
        check(&known, expected(1, None), &[("abcdef", too_many())]);
        check(&limited, expected(0, None), &[("abcd", Ok("abcd")), ("e", too_large())]);
        check(&limited, expected(1, None), &[("abcdef", too_large())]);
        // What was announced is told first.
        check(&of(Some(104), Some(104)), expected(0, None), &[("abcde", too_many())]);
    }

    #[test]
    fn complete_body_has_its_announced_length() {
        let check = |came: Came, kept: u64, expected: Result<Ended, LengthProblem>| {
            assert_eq!(came.judge(kept), expected, "{came:?} {kept}");
        };
        let came = Came { start: 100, len: 10, announced: None, is_last: false };
        check(came, 100, Ok(Ended::Whole));
        check(Came { announced: Some(10), ..came }, 100, Ok(Ended::Whole));
        check(Came { announced: Some(11), ..came }, 100, Ok(Ended::Broken));
        check(Came { announced: Some(0), len: 0, ..came }, 100, Ok(Ended::Whole));
        // Without being the last it may end anywhere in what is kept.
        check(Came { start: 0, ..came }, 100, Ok(Ended::Whole));
    }

    #[test]
    fn last_body_must_not_end_below_the_kept_bytes() {
        let check = |start: u64, len: u64, announced: Option<u64>, expected: Result<Ended, LengthProblem>| {
            let came = Came { start, len, announced, is_last: true };
            assert_eq!(came.judge(100), expected, "{came:?}");
        };
        check(90, 9, None, Err(LengthProblem::BelowKept { kept: 100 }));
        check(90, 10, None, Ok(Ended::Whole));
        check(90, 11, None, Ok(Ended::Whole));
        check(90, 10, Some(11), Ok(Ended::Broken));
        check(90, 9, Some(10), Err(LengthProblem::BelowKept { kept: 100 }));
        check(u64::MAX, 10, None, Ok(Ended::Whole));
    }

    #[test]
    fn first_request_renews_sooner() {
        assert_eq!(first_renewal(&waiting().state), Duration::from_millis(500));
        assert_eq!(first_renewal(&uploading(1, 1).state), Duration::from_secs(5));
    }
}
