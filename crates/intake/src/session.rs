//! What a process remembers of an upload between two requests: where it writes, and what it has read of the
//! file so far.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kinora_blob::{Blob, GrowingObject};
use kinora_domain::{MediaId, SourceId, Upload, WorkspaceId};
use kinora_formats::Scanner;
use kinora_store::{JobKind, NewJob, Priority, Store, UploadLease};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::intake::Parts;
use crate::ledger::{StoreLedger, grown};
use crate::receive::{Asking, renewing};
use crate::scan::{Checkpoint, Scan};
use crate::tend::look_after_at;
use crate::{IntakeError, ScanTurns};

/// Bytes that are read at once when the scanner catches up.
const CATCH_UP_BYTES: u64 = 256 << 10;
/// The scanner's state is written down when so many bytes have come since the last time. Where bytes can be
/// read again this is what a killed process costs at most, a fraction of a second.
const CHECKPOINT_EVERY_BYTES: u64 = 64 << 20;
/// In a bucket a part cannot be read before the object is whole, so each one counts; this is its usual length
/// (`kinora_blob::S3Limits::part_len`).
const CHECKPOINT_EVERY_PART: u64 = 8 << 20;
/// And not more often than that it takes an eighth of what comes: the tables of a movie that is read frame by
/// frame grow with it.
const CHECKPOINT_SHARE: u64 = 8;

/// How long a request waits for the disk, or for memory that others hold, before it is asked to come again.
pub(crate) const STUCK_MAX: Duration = Duration::from_secs(30);
/// Pieces of a fast line are passed on together: each one alone would wake the scanner and the writer.
const BATCH_BYTES: u64 = 512 << 10;
/// Pieces of a line in small packets are copied together: each holds a buffer of 8 KiB and more, however few
/// bytes it has.
const SMALL_PIECE: usize = 16 << 10;
/// Of a slow line they wait no longer than that, a tenth of what a killed process may cost.
const BATCH_WITHIN: Duration = Duration::from_millis(5);

/// An upload that this process receives.
pub(crate) struct Session {
    /// As it was last read or written.
    pub(crate) upload: Upload,
    pub(crate) lease: UploadLease,
    pub(crate) growing: GrowingObject,
    pub(crate) scan: Reading,
    batch: Batch,
    checkpoint: Checkpoints,
    /// When a request last left it.
    pub(crate) left_at: Instant,
}

/// What has been read of the file.
pub(crate) enum Reading {
    /// Every byte up to where the session writes.
    On(Scan),
    /// Not all: parts in a bucket cannot be read before the object is whole, and the process that sent them
    /// did not live to write down what it had read. The whole file is read once it is there.
    Blind,
}

/// What has come and was not passed on yet.
#[derive(Default)]
struct Batch {
    pieces: VecDeque<Bytes>,
    /// Small pieces behind the others.
    small: BytesMut,
    len: u64,
    due: Option<Instant>,
}

/// When the scanner's state was written down, and what waits to be.
struct Checkpoints {
    at: u64,
    len: u64,
    /// Of bytes that are not all kept yet.
    waiting: Option<Checkpoint>,
    /// On its way to the store of objects; nobody waits for it but the next one, and the end.
    putting: Option<JoinHandle<()>>,
    /// Cancelled when the file is complete: checkpoints that still wait are not needed any more.
    whole: CancellationToken,
}

/// What the scanner said to bytes that were passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// It goes on.
    On,
    /// It gave up: the file can never become a media.
    Hopeless,
}

/// An upload, open or ended.
pub(crate) enum Opened {
    Open(Box<Session>),
    Settled(Box<Upload>),
}

impl Session {
    /// Opens an upload under a lease of this process. What an earlier request of this process left is used if
    /// nobody came in between.
    pub(crate) async fn open(
        parts: &Parts,
        id: MediaId,
        left: Option<Session>,
        asking: Asking,
    ) -> Result<Opened, IntakeError> {
        let options = &parts.options;
        let (worker, known) = (options.worker, left.as_ref().map(|session| session.lease.number));
        let now = options.clock.now();
        let leased = options
            .store
            .write(async move |tx| {
                let leased = tx.lease_upload(id, worker, known).await?;
                if let Some((upload, lease)) = &leased
                    && asking == Asking::Client
                    && !upload.is_settled()
                    && known != Some(lease.number)
                {
                    // Whoever takes it over may be killed with the last byte: somebody looks after it.
                    let kind = JobKind::TendUpload { media: id };
                    tx.drop_job(kind).await?;
                    let run_at = look_after_at(upload, now);
                    let workspace = Some(upload.workspace);
                    tx.enqueue(NewJob { kind, workspace, run_at, priority: Priority::Low }).await?;
                }
                Ok::<_, kinora_store::Error>(leased)
            })
            .await?;
        let Some((upload, lease)) = leased else { return Err(IntakeError::NotFound) };
        if upload.is_settled() {
            return Ok(Opened::Settled(Box::new(upload)));
        }
        if let Some(mut session) = left.filter(|session| session.lease == lease) {
            session.upload = upload;
            return Ok(Opened::Open(Box::new(session)));
        }
        let kept = grown(options.store.upload_grown(id).await?);
        let ledger = Arc::new(StoreLedger { store: options.store.clone(), lease });
        let mut growing = options
            .blob
            .of_workspace(Some(upload.workspace))
            .grow(upload.source, lease.number, kept, ledger)
            .await?;
        growing.announce(upload.length);
        // What is read again waits for the turn of its scan.
        let (scan, checkpoint) = renewing(parts, lease, resume(parts, &upload, &growing)).await??;
        let left_at = Instant::now();
        Ok(Opened::Open(Box::new(Session {
            upload,
            lease,
            growing,
            scan,
            batch: Batch::default(),
            checkpoint,
            left_at,
        })))
    }

    /// Takes the next bytes of the file. They are passed on when it is due.
    pub(crate) fn take(&mut self, bytes: Bytes) {
        self.batch.due.get_or_insert_with(|| Instant::now() + BATCH_WITHIN);
        self.batch.push(bytes);
    }

    /// Bytes from the start that were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.growing.written() + self.batch.len
    }

    /// When a batch that is not full is passed on.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.batch.due
    }

    pub(crate) fn has_full_batch(&self) -> bool {
        self.batch.len >= BATCH_BYTES
    }

    /// Passes what was taken on to the scanner and to the disk or the store. Cancelled, the session is lost.
    pub(crate) async fn pass_on(&mut self, parts: &Parts) -> Result<Passed, IntakeError> {
        let every = checkpoint_every(parts);
        let mut pieces = std::mem::take(&mut self.batch).into_pieces();
        while !pieces.is_empty() {
            // A checkpoint is worth most where a part ends.
            let end = self.growing.written() / every * every + every;
            let now = split_to(&mut pieces, end - self.growing.written());
            if let Reading::On(scan) = &self.scan {
                for piece in &now {
                    if scan.push(piece.clone()).await.is_err() {
                        return Ok(Passed::Hopeless);
                    }
                }
            }
            for piece in now {
                timeout(STUCK_MAX, self.growing.write(piece)).await.map_err(|_| IntakeError::Busy)??;
            }
            if self.growing.written() == end && self.is_checkpoint_due() {
                self.take_checkpoint().await;
            }
        }
        if self.checkpoint.waiting.as_ref().is_some_and(|waiting| waiting.at() <= self.growing.kept()) {
            self.put_checkpoint(parts);
        }
        Ok(Passed::On)
    }

    fn is_checkpoint_due(&self) -> bool {
        let since = self.growing.written().saturating_sub(self.checkpoint.at);
        since >= self.checkpoint.len.saturating_mul(CHECKPOINT_SHARE)
    }

    /// Writes the scanner's state down at the end of a request, where all bytes are kept, if enough of them
    /// came.
    pub(crate) async fn write_checkpoint_if_due(&mut self, parts: &Parts) {
        let since = self.growing.written().saturating_sub(self.checkpoint.at);
        if parts.options.blob.is_shared() || since >= checkpoint_every(parts) {
            self.write_last_checkpoint(parts).await;
        }
    }

    /// Writes the scanner's state down where all bytes are kept.
    pub(crate) async fn write_last_checkpoint(&mut self, parts: &Parts) {
        if self.growing.written() > self.checkpoint.at || self.checkpoint.waiting.is_some() {
            self.take_checkpoint().await;
            self.put_checkpoint(parts);
        }
    }

    /// Waits until every checkpoint is stored: one that is stored later would never be deleted. Call it
    /// without holding a turn for large tables: a large checkpoint waits for one.
    pub(crate) async fn finish_checkpoints(&mut self) {
        if let Some(putting) = self.checkpoint.putting.take() {
            let _ = putting.await; // it has told what went wrong
        }
    }

    /// Drops the checkpoints that still wait for a turn, because the file is complete. Waits for the others.
    pub(crate) async fn end_checkpoints(&mut self) {
        self.checkpoint.waiting = None;
        std::mem::take(&mut self.checkpoint.whole).cancel();
        self.finish_checkpoints().await;
    }

    /// A scanner that has given up has no state that anybody goes on from.
    async fn take_checkpoint(&mut self) {
        let Reading::On(scan) = &self.scan else { return };
        // While a large box comes it is as old as the begin of that.
        if let Ok(checkpoint) = scan.checkpoint().await
            && checkpoint.at() > self.checkpoint.at
        {
            self.checkpoint.waiting = Some(checkpoint);
        }
    }

    /// Bytes are acknowledged without it: where it is missing some are read again.
    fn put_checkpoint(&mut self, parts: &Parts) {
        let Some(checkpoint) = self.checkpoint.waiting.take() else { return };
        self.checkpoint.at = checkpoint.at();
        self.checkpoint.len = checkpoint.state_len();
        let put = Put {
            blob: parts.options.blob.clone(),
            store: parts.options.store.clone(),
            turns: parts.options.scans.clone(),
            source: self.upload.source,
            workspace: self.upload.workspace,
            whole: self.checkpoint.whole.clone(),
        };
        let previous = self.checkpoint.putting.take();
        self.checkpoint.putting = Some(tokio::spawn(async move {
            if let Some(previous) = previous {
                let _ = previous.await;
            }
            let source = put.source;
            if let Err(error) = put.run(checkpoint).await {
                tracing::warn!(source.id = %source, error = %error, "a checkpoint could not be kept");
            }
        }));
    }
}

impl Batch {
    fn push(&mut self, bytes: Bytes) {
        self.len += bytes.len() as u64;
        if bytes.len() < SMALL_PIECE {
            self.small.extend_from_slice(&bytes);
        } else {
            self.end_small();
            self.pieces.push_back(bytes);
        }
    }

    fn into_pieces(mut self) -> VecDeque<Bytes> {
        self.end_small();
        self.pieces
    }

    fn end_small(&mut self) {
        if !self.small.is_empty() {
            self.pieces.push_back(self.small.split().freeze());
        }
    }
}

/// Takes so many bytes off the front.
fn split_to(pieces: &mut VecDeque<Bytes>, mut len: u64) -> Vec<Bytes> {
    let mut front = Vec::with_capacity(pieces.len());
    while let Some(mut piece) = pieces.pop_front() {
        if piece.len() as u64 > len {
            let rest = piece.split_off(usize::try_from(len).unwrap_or(usize::MAX));
            pieces.push_front(rest);
            if !piece.is_empty() {
                front.push(piece);
            }
            break;
        }
        len -= piece.len() as u64;
        front.push(piece);
    }
    front
}

/// Puts a checkpoint into the store of objects.
struct Put {
    blob: Blob,
    store: Store,
    turns: ScanTurns,
    source: SourceId,
    workspace: WorkspaceId,
    whole: CancellationToken,
}

impl Put {
    async fn run(self, checkpoint: Checkpoint) -> Result<(), IntakeError> {
        let at = checkpoint.at();
        let loading = checkpoint.load_in_turn(&self.turns, Some(self.workspace));
        let Some(loaded) = self.whole.run_until_cancelled(loading).await else { return Ok(()) };
        let (state, turn) = loaded?;
        // While it waited the upload may have ended, with another session.
        if turn.holds_place() && !self.store.is_held_by_upload(self.source).await? {
            return Ok(());
        }
        Ok(self.blob.put_checkpoint(self.source, at, state).await?)
    }
}

fn checkpoint_every(parts: &Parts) -> u64 {
    if parts.options.blob.is_shared() { CHECKPOINT_EVERY_PART } else { CHECKPOINT_EVERY_BYTES }
}

/// The scanner as far as the bytes are kept.
async fn resume(
    parts: &Parts,
    upload: &Upload,
    growing: &GrowingObject,
) -> Result<(Reading, Checkpoints), IntakeError> {
    let (source, workspace) = (upload.source, Some(upload.workspace));
    let kept = growing.kept();
    let mut start = (0, Scanner::new(None));
    if kept > 0
        && let Some((at, state)) = parts.options.blob.checkpoint(source).await?
        && at <= kept
    {
        // Of millions of samples that takes a thread some time.
        let read = spawn_blocking(move || Scanner::from_checkpoint(&state)).await;
        match read.map_err(|panic| IntakeError::Internal(Box::new(panic)))? {
            Ok(scanner) if scanner.len() == at => start = (at, scanner),
            // Of another version, or damaged: the bytes are read again.
            Ok(_) | Err(_) => tracing::warn!(source.id = %source, "a checkpoint cannot be read"),
        }
    }
    let (from, scanner) = start;
    let checkpoint =
        Checkpoints { at: from, len: 0, waiting: None, putting: None, whole: CancellationToken::new() };
    if from < kept && from < growing.readable_from() {
        return Ok((Reading::Blind, checkpoint));
    }
    let scan = Scan::resume(&parts.options.scans, workspace, scanner);
    let mut at = from;
    while at < kept {
        let end = kept.min(at + CATCH_UP_BYTES);
        if scan.push(growing.read(at..end).await?).await.is_err() {
            break; // whoever pushes next hears the same
        }
        at = end;
    }
    Ok((Reading::On(scan), checkpoint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(byte: u8, len: usize) -> Bytes {
        vec![byte; len].into()
    }

    /// Each piece by its bytes' value and its length, one pair for each run of a value.
    fn told(pieces: impl IntoIterator<Item = Bytes>) -> Vec<Vec<(u8, usize)>> {
        let runs = |piece: Bytes| piece.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
        pieces.into_iter().map(runs).collect()
    }

    #[test]
    fn small_pieces_are_joined_and_all_stay_in_order() {
        let mut batch = Batch::default();
        for (byte, len) in
            [(1, 3), (2, SMALL_PIECE - 1), (3, SMALL_PIECE), (4, 5), (5, SMALL_PIECE), (6, 1), (7, 2)]
        {
            batch.push(piece(byte, len));
        }
        assert_eq!(batch.len, 3 * SMALL_PIECE as u64 + 10);
        assert_eq!(
            told(batch.into_pieces()),
            [
                vec![(1, 3), (2, SMALL_PIECE - 1)],
                vec![(3, SMALL_PIECE)],
                vec![(4, 5)],
                vec![(5, SMALL_PIECE)],
                vec![(6, 1), (7, 2)],
            ]
        );
    }

    #[test]
    fn pieces_are_cut_where_a_part_ends() {
        let mut pieces: VecDeque<Bytes> = [piece(1, 4), piece(2, 6), piece(3, 1)].into();
        assert_eq!(told(split_to(&mut pieces, 4)), [[(1, 4)]]);
        assert_eq!(told(split_to(&mut pieces, 5)), [[(2, 5)]]);
        assert_eq!(told(split_to(&mut pieces, 100)), [[(2, 1)], [(3, 1)]]);
        assert!(pieces.is_empty());
    }
}
