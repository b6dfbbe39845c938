//! The session of an upload, cached between two requests: its writer, and the scan so far.

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

use crate::intake::Inner;
use crate::maintenance::first_maintenance_at;
use crate::multipart_log::{StoreMultipartLog, to_multipart_state};
use crate::receive::{Requester, with_renewal};
use crate::scan::{Checkpoint, Scan};
use crate::{IntakeError, ScanLimits};

/// Read size when the scanner catches up.
const CATCH_UP_BYTES: u64 = 256 << 10;
/// Number of received bytes between two checkpoints of the scanner. If bytes can be read again, this is the
/// most work that a killed process loses, a fraction of a second.
const CHECKPOINT_EVERY_BYTES: u64 = 64 << 20;
/// In a bucket a part cannot be read before the object is complete, so each part counts. This is its usual
/// length (`kinora_blob::S3Limits::part_len`).
const CHECKPOINT_EVERY_BYTES_IN_BUCKET: u64 = 8 << 20;
/// A checkpoint is at most one eighth of the bytes since the last one: tables that are read frame by frame
/// grow with the movie.
const CHECKPOINT_SHARE: u64 = 8;

/// Timeout of a request that waits for the disk, or for memory in use by others; the client then retries
/// later.
pub(crate) const FLUSH_TIMEOUT: Duration = Duration::from_secs(30);
/// Pieces of a fast connection are passed on together: each one alone would wake the scanner and the writer.
const BATCH_BYTES: u64 = 512 << 10;
/// Pieces of a connection with small packets are copied together: each uses a buffer of 8 KiB or more,
/// however few bytes it has.
const SMALL_PIECE_BYTES: usize = 16 << 10;
/// Longest delay of bytes on a slow connection: a tenth of the loss that a killed process may cause.
const BATCH_DELAY_MAX: Duration = Duration::from_millis(5);

/// An upload that this process receives.
pub(crate) struct Session {
    /// The row, as it was last read or written.
    pub(crate) upload: Upload,
    pub(crate) lease: UploadLease,
    pub(crate) growing: GrowingObject,
    pub(crate) scan: ScanState,
    batch: Batch,
    checkpoints: Checkpoints,
    /// When the last request left it.
    pub(crate) idle_since: Instant,
}

/// The state of the scan.
pub(crate) enum ScanState {
    /// Scanned up to the write position of the session.
    Active(Scan),
    /// Not scanned completely: parts in a bucket cannot be read before the object is complete, and the
    /// process that sent them was killed before it stored a checkpoint. The whole file is scanned once it is
    /// complete.
    NotScanned,
}

/// Received bytes that were not passed on yet.
#[derive(Default)]
struct Batch {
    pieces: VecDeque<Bytes>,
    /// Small pieces after the others.
    small: BytesMut,
    len: u64,
    flush_at: Option<Instant>,
}

/// The last stored checkpoint, and the pending ones.
struct Checkpoints {
    at: u64,
    len: u64,
    /// A checkpoint of bytes that are not all stored yet.
    pending: Option<Checkpoint>,
    /// The checkpoint being stored; only the next one and the end wait for it.
    write_task: Option<JoinHandle<()>>,
    /// Cancelled when the file is complete: checkpoints that wait for a permit are no longer needed.
    file_complete: CancellationToken,
}

/// The verdict of the scanner on bytes that were passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlushOutcome {
    /// The scanner continues.
    Active,
    /// The scanner failed: the file can never become a media.
    Rejected,
}

/// An upload, open or ended.
pub(crate) enum Opened {
    Open(Box<Session>),
    Settled(Box<Upload>),
}

impl Session {
    /// Opens an upload under a lease of this process. Uses the session of an earlier request of this
    /// process, if no other process opened the upload in between.
    pub(crate) async fn open(
        parts: &Inner,
        id: MediaId,
        cached: Option<Session>,
        requester: Requester,
    ) -> Result<Opened, IntakeError> {
        let options = &parts.options;
        let (worker, known_lease) = (options.worker, cached.as_ref().map(|session| session.lease.number));
        let now = options.clock.now();
        let leased = options
            .store
            .write(async move |tx| {
                let leased = tx.lease_upload(id, worker, known_lease).await?;
                if let Some((upload, lease)) = &leased
                    && requester == Requester::Client
                    && !upload.is_settled()
                    && known_lease != Some(lease.number)
                {
                    // A process that takes over may be killed with the last byte: the maintenance job
                    // handles it.
                    let kind = JobKind::CheckUpload { media: id };
                    tx.cancel_job(kind).await?;
                    let run_at = first_maintenance_at(upload, now);
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
        if let Some(mut session) = cached.filter(|session| session.lease == lease) {
            session.upload = upload;
            return Ok(Opened::Open(Box::new(session)));
        }
        let multipart_state = to_multipart_state(options.store.upload_multipart(id).await?);
        let multipart_log = Arc::new(StoreMultipartLog { store: options.store.clone(), lease });
        let mut growing = options
            .blob
            .for_workspace(Some(upload.workspace))
            .grow(upload.source, lease.number, multipart_state, multipart_log)
            .await?;
        growing.announce(upload.length);
        // Scanning bytes again waits for a scan permit.
        let (scan, checkpoints) = with_renewal(parts, lease, resume(parts, &upload, &growing)).await??;
        let idle_since = Instant::now();
        Ok(Opened::Open(Box::new(Session {
            upload,
            lease,
            growing,
            scan,
            batch: Batch::default(),
            checkpoints,
            idle_since,
        })))
    }

    /// Adds the next bytes of the file to the batch, which is passed on when it is due.
    pub(crate) fn accept(&mut self, bytes: Bytes) {
        self.batch.flush_at.get_or_insert_with(|| Instant::now() + BATCH_DELAY_MAX);
        self.batch.push(bytes);
    }

    /// Number of bytes from the start that were received.
    pub(crate) fn received_len(&self) -> u64 {
        self.growing.written() + self.batch.len
    }

    /// When an incomplete batch is passed on.
    pub(crate) fn flush_at(&self) -> Option<Instant> {
        self.batch.flush_at
    }

    pub(crate) fn has_full_batch(&self) -> bool {
        self.batch.len >= BATCH_BYTES
    }

    /// Passes the received bytes on to the scanner and to the disk or the store. If cancelled, the session is
    /// lost.
    pub(crate) async fn flush(&mut self, parts: &Inner) -> Result<FlushOutcome, IntakeError> {
        let every = checkpoint_every(parts);
        let mut pieces = std::mem::take(&mut self.batch).into_pieces();
        while !pieces.is_empty() {
            // A checkpoint at the end of a part is the most useful one.
            let end = self.growing.written() / every * every + every;
            let front = split_to(&mut pieces, end - self.growing.written());
            if let ScanState::Active(scan) = &self.scan {
                for piece in &front {
                    if scan.push(piece.clone()).await.is_err() {
                        return Ok(FlushOutcome::Rejected);
                    }
                }
            }
            for piece in front {
                timeout(FLUSH_TIMEOUT, self.growing.write(piece)).await.map_err(|_| IntakeError::Busy)??;
            }
            if self.growing.written() == end && self.is_checkpoint_due() {
                self.request_checkpoint().await;
            }
        }
        if self.checkpoints.pending.as_ref().is_some_and(|waiting| waiting.at() <= self.growing.synced()) {
            self.start_checkpoint_write(parts);
        }
        Ok(FlushOutcome::Active)
    }

    fn is_checkpoint_due(&self) -> bool {
        let since = self.growing.written().saturating_sub(self.checkpoints.at);
        since >= self.checkpoints.len.saturating_mul(CHECKPOINT_SHARE)
    }

    /// Stores a checkpoint of the scanner at the end of a request, where all bytes are stored, if enough of
    /// them arrived.
    pub(crate) async fn write_checkpoint_if_due(&mut self, parts: &Inner) {
        let since = self.growing.written().saturating_sub(self.checkpoints.at);
        if parts.options.blob.is_shared() || since >= checkpoint_every(parts) {
            self.write_last_checkpoint(parts).await;
        }
    }

    /// Stores a checkpoint of the scanner where all bytes are stored.
    pub(crate) async fn write_last_checkpoint(&mut self, parts: &Inner) {
        if self.growing.written() > self.checkpoints.at || self.checkpoints.pending.is_some() {
            self.request_checkpoint().await;
            self.start_checkpoint_write(parts);
        }
    }

    /// Waits until every checkpoint is stored: one that is stored later would never be deleted. The caller
    /// must not own a permit for large tables: a large checkpoint waits for one.
    pub(crate) async fn wait_for_checkpoints(&mut self) {
        if let Some(write_task) = self.checkpoints.write_task.take() {
            let _ = write_task.await; // it has reported its error
        }
    }

    /// Drops the checkpoints that still wait for a permit, because the file is complete. Waits for the
    /// others.
    pub(crate) async fn cancel_waiting_checkpoints(&mut self) {
        self.checkpoints.pending = None;
        std::mem::take(&mut self.checkpoints.file_complete).cancel();
        self.wait_for_checkpoints().await;
    }

    /// Requests the state of the scanner as the pending checkpoint. A failed scanner needs none.
    async fn request_checkpoint(&mut self) {
        let ScanState::Active(scan) = &self.scan else { return };
        // While a large box is in progress, the checkpoint is the state before that box.
        if let Ok(checkpoint) = scan.checkpoint().await
            && checkpoint.at() > self.checkpoints.at
        {
            self.checkpoints.pending = Some(checkpoint);
        }
    }

    /// Stores the pending checkpoint in the background. Received bytes are acknowledged before that: without
    /// the checkpoint, some are scanned again.
    fn start_checkpoint_write(&mut self, parts: &Inner) {
        let Some(checkpoint) = self.checkpoints.pending.take() else { return };
        self.checkpoints.at = checkpoint.at();
        self.checkpoints.len = checkpoint.state_len();
        let checkpoint_write = CheckpointWrite {
            blob: parts.options.blob.clone(),
            store: parts.options.store.clone(),
            limits: parts.options.scan_limits.clone(),
            source: self.upload.source,
            workspace: self.upload.workspace,
            file_complete: self.checkpoints.file_complete.clone(),
        };
        let previous = self.checkpoints.write_task.take();
        self.checkpoints.write_task = Some(tokio::spawn(async move {
            if let Some(previous) = previous {
                let _ = previous.await;
            }
            let source = checkpoint_write.source;
            if let Err(error) = checkpoint_write.run(checkpoint).await {
                tracing::warn!(source.id = %source, error = %error, "a checkpoint could not be stored");
            }
        }));
    }
}

impl Batch {
    fn push(&mut self, bytes: Bytes) {
        self.len += bytes.len() as u64;
        if bytes.len() < SMALL_PIECE_BYTES {
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

/// Splits `len` bytes off the front.
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

/// Writes a checkpoint to the object store.
struct CheckpointWrite {
    blob: Blob,
    store: Store,
    limits: ScanLimits,
    source: SourceId,
    workspace: WorkspaceId,
    file_complete: CancellationToken,
}

impl CheckpointWrite {
    async fn run(self, checkpoint: Checkpoint) -> Result<(), IntakeError> {
        let at = checkpoint.at();
        let loading = checkpoint.load_limited(&self.limits, Some(self.workspace));
        let Some(loaded) = self.file_complete.run_until_cancelled(loading).await else { return Ok(()) };
        let (state, permit) = loaded?;
        // The upload may have ended during the wait, with another session.
        if permit.has_large_permit() && !self.store.is_source_of_upload(self.source).await? {
            return Ok(());
        }
        Ok(self.blob.put_checkpoint(self.source, at, state).await?)
    }
}

fn checkpoint_every(parts: &Inner) -> u64 {
    if parts.options.blob.is_shared() { CHECKPOINT_EVERY_BYTES_IN_BUCKET } else { CHECKPOINT_EVERY_BYTES }
}

/// The scanner at the position of the stored bytes.
async fn resume(
    parts: &Inner,
    upload: &Upload,
    growing: &GrowingObject,
) -> Result<(ScanState, Checkpoints), IntakeError> {
    let (source, workspace) = (upload.source, Some(upload.workspace));
    let synced = growing.synced();
    let mut start = (0, Scanner::new(None));
    if synced > 0
        && let Some((at, state)) = parts.options.blob.latest_checkpoint(source).await?
        && at <= synced
    {
        // Parsing millions of samples takes a thread some time.
        let read = spawn_blocking(move || Scanner::from_checkpoint(&state)).await;
        match read.map_err(|panic| IntakeError::Internal(Box::new(panic)))? {
            Ok(scanner) if scanner.len() == at => start = (at, scanner),
            // Another version, or damaged: the bytes are scanned again.
            Ok(_) | Err(_) => tracing::warn!(source.id = %source, "a checkpoint cannot be read"),
        }
    }
    let (from, scanner) = start;
    let checkpoints = Checkpoints {
        at: from,
        len: 0,
        pending: None,
        write_task: None,
        file_complete: CancellationToken::new(),
    };
    if from < synced && from < growing.readable_from() {
        return Ok((ScanState::NotScanned, checkpoints));
    }
    let scan = Scan::resume(&parts.options.scan_limits, workspace, scanner);
    let mut at = from;
    while at < synced {
        let end = synced.min(at + CATCH_UP_BYTES);
        if scan.push(growing.read(at..end).await?).await.is_err() {
            break; // the next push gets the same error
        }
        at = end;
    }
    Ok((ScanState::Active(scan), checkpoints))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(byte: u8, len: usize) -> Bytes {
        vec![byte; len].into()
    }

    /// Each piece by its bytes' value and its length, one pair for each run of a value.
    fn accepted(pieces: impl IntoIterator<Item = Bytes>) -> Vec<Vec<(u8, usize)>> {
        let runs = |piece: Bytes| piece.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
        pieces.into_iter().map(runs).collect()
    }

    #[test]
    fn small_pieces_are_joined_in_order() {
        let mut batch = Batch::default();
        for (byte, len) in [
            (1, 3),
            (2, SMALL_PIECE_BYTES - 1),
            (3, SMALL_PIECE_BYTES),
            (4, 5),
            (5, SMALL_PIECE_BYTES),
            (6, 1),
            (7, 2),
        ] {
            batch.push(piece(byte, len));
        }
        assert_eq!(batch.len, 3 * SMALL_PIECE_BYTES as u64 + 10);
        assert_eq!(
            accepted(batch.into_pieces()),
            [
                vec![(1, 3), (2, SMALL_PIECE_BYTES - 1)],
                vec![(3, SMALL_PIECE_BYTES)],
                vec![(4, 5)],
                vec![(5, SMALL_PIECE_BYTES)],
                vec![(6, 1), (7, 2)],
            ]
        );
    }

    #[test]
    fn pieces_are_cut_where_a_part_ends() {
        let mut pieces: VecDeque<Bytes> = [piece(1, 4), piece(2, 6), piece(3, 1)].into();
        assert_eq!(accepted(split_to(&mut pieces, 4)), [[(1, 4)]]);
        assert_eq!(accepted(split_to(&mut pieces, 5)), [[(2, 5)]]);
        assert_eq!(accepted(split_to(&mut pieces, 100)), [[(2, 1)], [(3, 1)]]);
        assert!(pieces.is_empty());
    }
}
