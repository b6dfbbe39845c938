//! Scans a source while its bytes arrive, concurrently with the task that writes them.
//!
//! A scan uses little memory ([`worker`]): large boxes and their tables are stored in temporary files
//! ([`spill`]) and are loaded only when a limit of the process allows it ([`limits`]). Tables that grow
//! during the scan stay in memory while another limit allows it. During a pause the whole state is stored.

mod checkpoint;
mod limits;
mod spill;
mod spilled_index;
mod worker;

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use kinora_domain::WorkspaceId;
use kinora_formats::{Scanned, Scanner};
use kinora_isobmff::{PushError, ReadError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::task::AbortOnDropHandle;

pub use self::checkpoint::Checkpoint;
pub use self::limits::{ScanLimits, ScanPermit};
pub use self::spilled_index::SpilledIndex;
use self::worker::ScanWorker;

/// Capacity of the queue of chunks. A batch that is being scanned has up to as many more. A connection reads
/// at most 256 KiB at once, so all of them have 1 MiB.
const CHUNKS_AHEAD: usize = 2;

/// A scanner that runs concurrently with the receiving task. It uses a thread only while it works, because a
/// large `moov` takes long and a slow source sends nothing for long.
#[derive(Debug)]
pub struct Scan {
    commands: mpsc::Sender<ScanCommand>,
    /// Aborted on drop, so that an abandoned scan does not wait for a permit.
    result: AbortOnDropHandle<Result<ScanResult, ScanError>>,
}

/// The result of a complete scan.
#[derive(Debug)]
pub struct ScanResult {
    /// The container and the index, or the facts for a remux.
    pub scanned: Scanned,
    /// The permit for the memory of its tables.
    pub permit: ScanPermit,
}

/// Why a scan ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The source is unusable.
    #[error(transparent)]
    Read(ReadError),
    /// The temporary file failed.
    #[error("a part of the source could not be stored")]
    SpillFile(#[source] io::Error),
    /// The scanner has a bug.
    #[error("the scanner panicked")]
    Panicked(#[source] JoinError),
}

/// The scan has ended: its source was rejected, its temporary file failed, or it panicked. [`Scan::finish`]
/// returns the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanEnded;

#[derive(Debug)]
enum ScanCommand {
    Push(Bytes),
    /// Returns the state after all bytes before this command, or a slightly earlier one.
    Checkpoint(oneshot::Sender<Checkpoint>),
    /// Returns whether the bytes so far are in an unsupported container, so that the source needs a remux.
    NeedsRemux(oneshot::Sender<bool>),
    /// Stores the state in the temporary file: no bytes arrive for a while.
    Spill,
}

impl Scan {
    /// A scan that has seen no byte, for this workspace.
    pub fn begin(limits: &ScanLimits, workspace: Option<WorkspaceId>) -> Self {
        Self::resume(limits, workspace, Scanner::new(None))
    }

    /// Resumes the scan of a scanner.
    pub fn resume(limits: &ScanLimits, workspace: Option<WorkspaceId>, scanner: Scanner) -> Self {
        let (commands, receiver) = mpsc::channel(CHUNKS_AHEAD);
        let worker = ScanWorker::new(scanner, limits.memory(workspace));
        let context = ScanContext { limits: limits.clone(), workspace };
        Self { commands, result: AbortOnDropHandle::new(tokio::spawn(scan(worker, context, receiver))) }
    }

    /// Queues the next bytes. Waits if the scanner is too slow.
    pub async fn push(&self, chunk: Bytes) -> Result<(), ScanEnded> {
        self.commands.send(ScanCommand::Push(chunk)).await.map_err(|_| ScanEnded)
    }

    /// Stores the state in the temporary file until more bytes arrive.
    pub async fn spill(&self) {
        // A scan that has ended uses no memory.
        let _ = self.commands.send(ScanCommand::Spill).await;
    }

    /// The state after all bytes that were pushed, or the state before a large box in progress.
    ///
    /// Returns [`ScanEnded`] also if there is no space for a large state.
    pub async fn checkpoint(&self) -> Result<Checkpoint, ScanEnded> {
        self.request(ScanCommand::Checkpoint).await
    }

    /// Whether the pushed bytes are in an unsupported container, so that the source needs a remux.
    pub async fn needs_remux(&self) -> Result<bool, ScanEnded> {
        self.request(ScanCommand::NeedsRemux).await
    }

    async fn request<T>(&self, command: fn(oneshot::Sender<T>) -> ScanCommand) -> Result<T, ScanEnded> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| ScanEnded)?;
        answer.await.map_err(|_| ScanEnded)
    }

    /// The scan result. After [`ScanEnded`]: the reason.
    pub async fn finish(self) -> Result<ScanResult, ScanError> {
        drop(self.commands);
        self.result.await.map_err(ScanError::Panicked)?
    }
}

/// The limits and the workspace of a scan.
struct ScanContext {
    limits: ScanLimits,
    workspace: Option<WorkspaceId>,
}

impl ScanContext {
    /// Runs `step` on a blocking thread, with a memory permit if `len` is set.
    async fn run<T: Send + 'static>(
        &self,
        len: Option<u64>,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, ScanPermit), ScanError> {
        let permit = match len {
            Some(len) => self.limits.acquire_box(len, self.workspace).await,
            None => ScanPermit::default(),
        };
        let thread = self.limits.acquire_thread(self.workspace).await;
        // The thread releases the permits: a step runs to its end, even if the scan was dropped in the
        // meantime.
        let step = move || {
            let done = step();
            drop(thread);
            (done, permit)
        };
        spawn_blocking(step).await.map_err(ScanError::Panicked)
    }
}

/// Scans until all senders are gone or the scanner fails.
async fn scan(
    mut worker: ScanWorker,
    context: ScanContext,
    mut receiver: mpsc::Receiver<ScanCommand>,
) -> Result<ScanResult, ScanError> {
    // A resumed scanner may have large tables already.
    let (fitted, _) = context.run(None, move || worker.fit_memory().map(|()| worker)).await?;
    worker = fitted?;
    let mut commands = Vec::new();
    while receiver.recv_many(&mut commands, CHUNKS_AHEAD).await > 0 {
        let mut batch: VecDeque<ScanCommand> = std::mem::take(&mut commands).into();
        while !batch.is_empty() {
            let bytes_to_load = worker.bytes_to_load(batch.front());
            let (done, _permit) = context.run(bytes_to_load, move || worker.execute(batch)).await?;
            (worker, batch) = done?;
        }
    }
    let (finished, permit) = context.run(worker.bytes_to_load_at_finish(), move || worker.finish()).await?;
    let (scanned, memory) = finished?;
    Ok(ScanResult { scanned, permit: permit.with_memory(memory) })
}

impl From<ReadError> for ScanError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::SpillFile(error)
    }
}

impl From<PushError> for ScanError {
    fn from(error: PushError) -> Self {
        match error {
            PushError::Read(error) => Self::Read(error),
            PushError::Spill(error) => Self::SpillFile(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn dropped_scan_holds_permit_until_step_ends() {
        let folder = tempfile::tempdir().unwrap();
        let limits = ScanLimits::new(folder.path().into());
        let context = ScanContext { limits: limits.clone(), workspace: None };
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (begin, begun) = oneshot::channel();
        let step = move || {
            begin.send(()).unwrap();
            let _ = ended.recv();
        };
        let mut running = Box::pin(context.run(Some(1 << 30), step));
        assert!((&mut running).now_or_never().is_none());
        begun.await.unwrap();
        drop(running);

        let mut next = Box::pin(limits.acquire_box(1 << 30, None));
        assert!((&mut next).now_or_never().is_none(), "the step still has its tables");
        drop(end);
        assert!(next.await.has_large_permit());
    }
}
