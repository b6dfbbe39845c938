//! Reads what a source is out of its passing bytes, beside the task that writes them.

use bytes::Bytes;
use kinora_formats::mp4::ReadError;
use kinora_formats::{Scanned, Scanner};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

/// Chunks that wait to be scanned; with chunks of some 16 KiB about 1 MiB.
const WAITING_MAX: usize = 64;

/// A scanner beside the download. It borrows a thread only while it works, for a large `moov` takes its time and a slow source
/// brings nothing for long.
pub(super) struct Scan {
    chunks: mpsc::Sender<Bytes>,
    result: JoinHandle<Result<Result<Scanned, ReadError>, JoinError>>,
}

/// The scanner has seen enough to know that this is hopeless; [`Scan::finish`] says why.
pub(super) struct Hopeless;

impl Scan {
    pub(super) fn begin() -> Self {
        let (chunks, waiting) = mpsc::channel(WAITING_MAX);
        Self { chunks, result: tokio::spawn(scan(waiting)) }
    }

    pub(super) async fn push(&self, chunk: Bytes) -> Result<(), Hopeless> {
        self.chunks.send(chunk).await.map_err(|_| Hopeless)
    }

    /// What the bytes were. After [`Hopeless`]: why.
    pub(super) async fn finish(self) -> Result<Result<Scanned, ReadError>, JoinError> {
        drop(self.chunks);
        self.result.await?
    }
}

/// Scans what comes until nothing more can, or the scanner gives up.
async fn scan(mut waiting: mpsc::Receiver<Bytes>) -> Result<Result<Scanned, ReadError>, JoinError> {
    let mut scanner = Scanner::new(None);
    let mut chunks = Vec::new();
    while waiting.recv_many(&mut chunks, WAITING_MAX).await > 0 {
        let batch = std::mem::take(&mut chunks);
        let pushed = spawn_blocking(move || {
            batch.iter().try_for_each(|chunk| scanner.push(chunk))?;
            Ok(scanner)
        });
        scanner = match pushed.await? {
            Ok(scanner) => scanner,
            Err(error) => return Ok(Err(error)),
        };
    }
    spawn_blocking(move || scanner.finish()).await
}
