//! Reads the body of one request into the session of its upload.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use kinora_domain::{LengthRejected, MediaId, Upload, UploadState};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::checksum::CHECKED_BYTES_MAX;
use crate::session::{FlushOutcome, Session};
use crate::stall::{StallGuarded, Stalled};
use crate::{Intake, IntakeError, SPACE_CHECK_EVERY_BYTES, has_disk_space};

/// Interval at which the row gets the progress of a request, which renews the upload.
pub(crate) const RENEW_EVERY: Duration = Duration::from_secs(5);
/// Interval until the first renewal, which creates the media: a client may wait for its event.
const FIRST_RENEW_AFTER: Duration = Duration::from_millis(500);

/// How the body of a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// Complete, as announced.
    Complete,
    /// The connection broke, or the body was shorter than announced.
    Incomplete,
    /// The bytes arrived too slowly.
    Stalled,
    /// A newer request receives the upload.
    Interrupted,
    /// The body is longer than the announced `length` of the body or file.
    TooMany { length: u64 },
    /// The body exceeds the maximum size of the upload.
    TooLarge { max: u64 },
    /// The scanner rejected the file.
    Rejected,
}

/// A body that was buffered in memory.
pub(crate) enum BufferedBody {
    /// The complete body.
    All(Bytes),
    /// The body ended early.
    Ended(BodyEnd),
}

/// The expected rest of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExpectedBody {
    /// Bytes at its start that are stored already.
    pub(crate) skip: u64,
    /// Its length, if the request states it.
    pub(crate) body_len: Option<u64>,
}

impl ExpectedBody {
    /// The new bytes of a piece, or how the body ends with it: then no byte of the piece is stored.
    ///
    /// `total` counts the bytes of the body including this piece, `received` those of the file before it.
    fn new_bytes(
        &mut self,
        mut piece: Bytes,
        total: u64,
        upload: &Upload,
        received: u64,
    ) -> Result<Bytes, BodyEnd> {
        if let Some(length) = self.body_len.filter(|len| total > *len) {
            return Err(BodyEnd::TooMany { length });
        }
        let skipped = self.skip.min(piece.len() as u64);
        self.skip -= skipped;
        let new = piece.split_off(usize::try_from(skipped).unwrap_or(usize::MAX));
        let end = received + new.len() as u64;
        if let Some(length) = upload.length.filter(|length| end > *length) {
            return Err(BodyEnd::TooMany { length });
        }
        if let Some(max) = upload.size_max.filter(|max| end > *max) {
            return Err(BodyEnd::TooLarge { max });
        }
        Ok(new)
    }
}

/// A body that reached its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedBody {
    /// Offset of its first byte in the file.
    pub(crate) start: u64,
    /// Its length in bytes.
    pub(crate) len: u64,
    /// Its announced length, if the request stated one.
    pub(crate) announced: Option<u64>,
    /// Whether the request announced that the file ends with it.
    pub(crate) is_last: bool,
}

impl ReceivedBody {
    /// How it ended, where `offset` bytes of the file were stored before it arrived.
    pub(crate) fn body_end(self, offset: u64) -> Result<BodyEnd, LengthRejected> {
        if self.is_last && self.start.saturating_add(self.len) < offset {
            return Err(LengthRejected::BelowOffset { kept: offset });
        }
        let is_short = self.announced.is_some_and(|announced| announced != self.len);
        Ok(if is_short { BodyEnd::Incomplete } else { BodyEnd::Complete })
    }
}

/// The next step of a request.
enum BodyStep {
    /// Receives these bytes.
    Receive(Bytes),
    /// Passes on the batch, because its deadline has passed.
    Flush,
    /// Renews the upload.
    Renew,
    /// Ends.
    End(BodyEnd),
}

impl Intake {
    /// Reads the body until it ends or no more bytes are accepted.
    pub(crate) async fn read_body<B, E>(
        &self,
        session: &mut Session,
        body: &mut StallGuarded<B>,
        mut expected: ExpectedBody,
        interrupted: &CancellationToken,
    ) -> Result<BodyEnd, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let mut renew_at = Instant::now() + first_renewal_delay(&session.upload.state);
        let mut space_checked_at = session.received_len();
        loop {
            match next(session.upload.id, body, session.flush_at(), renew_at, interrupted).await {
                BodyStep::End(ended) => return Ok(ended),
                BodyStep::Renew => {
                    if let FlushOutcome::Rejected = self.flush(session, interrupted).await? {
                        return Ok(BodyEnd::Rejected);
                    }
                    self.persist(session).await?;
                    renew_at = Instant::now() + RENEW_EVERY;
                    continue;
                }
                BodyStep::Receive(piece) => {
                    match expected.new_bytes(
                        piece,
                        body.received_bytes(),
                        &session.upload,
                        session.received_len(),
                    ) {
                        Err(ended) => return Ok(ended),
                        Ok(new) if new.is_empty() => continue,
                        Ok(new) => session.accept(new),
                    }
                    if !session.has_full_batch() {
                        continue;
                    }
                }
                BodyStep::Flush => {}
            }
            if let FlushOutcome::Rejected = self.flush(session, interrupted).await? {
                return Ok(BodyEnd::Rejected);
            }
            session.create_media_if_stored(self).await?;
            let end = session.received_len();
            if end - space_checked_at >= SPACE_CHECK_EVERY_BYTES {
                space_checked_at = end;
                if !has_disk_space(&self.0.options.blob, 0).await? {
                    self.persist(session).await?;
                    return Err(IntakeError::DiskFull { offset: session.growing.synced() });
                }
            }
        }
    }

    /// Buffers a body in memory until it has ended. Only a complete one is checked against its checksum.
    pub(crate) async fn buffer_body<B, E>(
        &self,
        session: &Session,
        mut body: StallGuarded<B>,
        body_len: Option<u64>,
        interrupted: &CancellationToken,
    ) -> Result<BufferedBody, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let mut buffered = BytesMut::new();
        let mut renew_at = Instant::now() + RENEW_EVERY;
        loop {
            let next = tokio::select! {
                biased;
                () = interrupted.cancelled() => return Ok(BufferedBody::Ended(BodyEnd::Interrupted)),
                () = sleep_until(renew_at) => {
                    // No byte is stored yet, and the upload must not count as abandoned.
                    let now = self.0.options.clock.now();
                    self.0.options.store.touch_upload(session.lease, now).await?;
                    renew_at = Instant::now() + RENEW_EVERY;
                    continue;
                }
                next = body.next() => next,
            };
            match next {
                Err(Stalled) => return Ok(BufferedBody::Ended(BodyEnd::Stalled)),
                Ok(Some(Err(_))) => return Ok(BufferedBody::Ended(BodyEnd::Incomplete)),
                Ok(Some(Ok(bytes))) => {
                    if body.received_bytes() > CHECKED_BYTES_MAX {
                        return Err(IntakeError::ChecksumTooLong { max: CHECKED_BYTES_MAX });
                    }
                    buffered.extend_from_slice(&bytes);
                }
                Ok(None) if body_len.is_some_and(|body_len| body_len != body.received_bytes()) => {
                    return Ok(BufferedBody::Ended(BodyEnd::Incomplete));
                }
                Ok(None) => return Ok(BufferedBody::All(buffered.freeze())),
            }
        }
    }
}

/// Waits for the first of these: an interruption, the time `flush_at`, the renewal, or the body.
async fn next<B, E>(
    upload: MediaId,
    body: &mut StallGuarded<B>,
    flush_at: Option<Instant>,
    renew_at: Instant,
    interrupted: &CancellationToken,
) -> BodyStep
where
    B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
    E: std::error::Error + Send + Sync + 'static,
{
    let piece = tokio::select! {
        biased;
        () = interrupted.cancelled() => return BodyStep::End(BodyEnd::Interrupted),
        () = sleep_until(flush_at.unwrap_or(renew_at)), if flush_at.is_some() => return BodyStep::Flush,
        () = sleep_until(renew_at) => return BodyStep::Renew,
        piece = body.next() => piece,
    };
    match piece {
        Err(Stalled) => BodyStep::End(BodyEnd::Stalled),
        Ok(None) => BodyStep::End(BodyEnd::Complete),
        Ok(Some(Ok(bytes))) => BodyStep::Receive(bytes),
        Ok(Some(Err(error))) => {
            tracing::debug!(error = %error, upload.id = %upload, "the body of an upload ended early");
            BodyStep::End(BodyEnd::Incomplete)
        }
    }
}

/// Delay from the start of a request until it renews its upload for the first time.
fn first_renewal_delay(state: &UploadState) -> Duration {
    if matches!(state, UploadState::Waiting) { FIRST_RENEW_AFTER } else { RENEW_EVERY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{uploading, waiting};

    /// Pieces of one body, each with its accepted bytes, until the body ends.
    #[track_caller]
    fn check(upload: &Upload, expected: ExpectedBody, pieces: &[(&'static str, Result<&str, BodyEnd>)]) {
        let (mut rest, mut total, mut received) = (expected.clone(), 0, upload.offset());
        for (piece, answer) in pieces {
            total += piece.len() as u64;
            let new = rest.new_bytes(Bytes::from_static(piece.as_bytes()), total, upload, received);
            let text = new.as_ref().map(|new| std::str::from_utf8(new).unwrap());
            assert_eq!(text, answer.as_deref(), "{piece} of {expected:?}");
            received += new.map_or(0, |new| new.len() as u64);
        }
    }

    fn expected(skip: u64, body_len: Option<u64>) -> ExpectedBody {
        ExpectedBody { skip, body_len }
    }

    #[test]
    fn stored_bytes_are_skipped_across_chunks() {
        let upload = uploading(100, 1);
        check(&upload, expected(0, None), &[("abc", Ok("abc")), ("", Ok("")), ("d", Ok("d"))]);
        check(&upload, expected(2, None), &[("abc", Ok("c")), ("d", Ok("d"))]);
        check(&upload, expected(3, None), &[("abc", Ok("")), ("d", Ok("d"))]);
        check(&upload, expected(5, None), &[("abc", Ok("")), ("def", Ok("f")), ("g", Ok("g"))]);
    }

    #[test]
    fn piece_beyond_the_announced_body_is_rejected() {
        let upload = uploading(100, 1);
        let too_many = || Err(BodyEnd::TooMany { length: 4 });
        check(&upload, expected(0, Some(4)), &[("abc", Ok("abc")), ("d", Ok("d")), ("e", too_many())]);
        check(&upload, expected(0, Some(4)), &[("abc", Ok("abc")), ("de", too_many())]);
        check(&upload, expected(9, Some(4)), &[("abcde", too_many())]); // skipped bytes count
    }

    #[test]
    fn piece_beyond_file_length_or_size_limit_is_rejected() {
        let of = |length, size_max| Upload { length, size_max, ..uploading(100, 1) };
        let too_many = || Err(BodyEnd::TooMany { length: 104 });
        let too_large = || Err(BodyEnd::TooLarge { max: 104 });
        let (announced, limited) = (of(Some(104), None), of(None, Some(104)));
        check(&announced, expected(0, None), &[("abc", Ok("abc")), ("d", Ok("d")), ("e", too_many())]);
        check(&announced, expected(2, None), &[("abcdef", Ok("cdef"))]); // skipped bytes do not count
        check(&announced, expected(1, None), &[("abcdef", too_many())]);
        check(&limited, expected(0, None), &[("abcd", Ok("abcd")), ("e", too_large())]);
        check(&limited, expected(1, None), &[("abcdef", too_large())]);
        // The announced length takes precedence over the maximum.
        check(&of(Some(104), Some(104)), expected(0, None), &[("abcde", too_many())]);
    }

    #[test]
    fn complete_body_has_its_announced_length() {
        let check = |body: ReceivedBody, offset: u64, expected: Result<BodyEnd, LengthRejected>| {
            assert_eq!(body.body_end(offset), expected, "{body:?} {offset}");
        };
        let came = ReceivedBody { start: 100, len: 10, announced: None, is_last: false };
        check(came, 100, Ok(BodyEnd::Complete));
        check(ReceivedBody { announced: Some(10), ..came }, 100, Ok(BodyEnd::Complete));
        check(ReceivedBody { announced: Some(11), ..came }, 100, Ok(BodyEnd::Incomplete));
        check(ReceivedBody { announced: Some(0), len: 0, ..came }, 100, Ok(BodyEnd::Complete));
        // Without being the last, it may end anywhere in the stored bytes.
        check(ReceivedBody { start: 0, ..came }, 100, Ok(BodyEnd::Complete));
    }

    #[test]
    fn last_body_below_offset_is_rejected() {
        let check =
            |start: u64, len: u64, announced: Option<u64>, expected: Result<BodyEnd, LengthRejected>| {
                let body = ReceivedBody { start, len, announced, is_last: true };
                assert_eq!(body.body_end(100), expected, "{body:?}");
            };
        check(90, 9, None, Err(LengthRejected::BelowOffset { kept: 100 }));
        check(90, 10, None, Ok(BodyEnd::Complete));
        check(90, 11, None, Ok(BodyEnd::Complete));
        check(90, 10, Some(11), Ok(BodyEnd::Incomplete));
        check(90, 9, Some(10), Err(LengthRejected::BelowOffset { kept: 100 }));
        check(u64::MAX, 10, None, Ok(BodyEnd::Complete));
    }

    #[test]
    fn first_request_renews_sooner() {
        assert_eq!(first_renewal_delay(&waiting().state), Duration::from_millis(500));
        assert_eq!(first_renewal_delay(&uploading(1, 1).state), Duration::from_secs(5));
    }
}
