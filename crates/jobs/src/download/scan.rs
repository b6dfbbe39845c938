//! Reads the index out of the passing bytes, beside the thread that writes them.

use bytes::Bytes;
use kinora_formats::index::Index;
use kinora_formats::mp4::{ReadError, Scanner};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Chunks that wait to be scanned; with chunks of some 16 KiB about 1 MiB.
const WAITING_MAX: usize = 64;

/// A scanner on a thread of its own: a large `moov` takes its time, and nobody else should wait for it.
pub(super) struct Scan {
    chunks: mpsc::Sender<Bytes>,
    result: JoinHandle<Result<Index, ReadError>>,
}

/// The scanner has seen enough to know that this is hopeless; [`Scan::finish`] says why.
pub(super) struct Hopeless;

impl Scan {
    pub(super) fn begin() -> Self {
        let (chunks, mut waiting) = mpsc::channel::<Bytes>(WAITING_MAX);
        let result = tokio::task::spawn_blocking(move || {
            let mut scanner = Scanner::new(None);
            while let Some(chunk) = waiting.blocking_recv() {
                scanner.push(&chunk)?;
            }
            scanner.finish()
        });
        Self { chunks, result }
    }

    pub(super) async fn push(&self, chunk: Bytes) -> Result<(), Hopeless> {
        self.chunks.send(chunk).await.map_err(|_| Hopeless)
    }

    /// What the bytes were. After [`Hopeless`]: why.
    pub(super) async fn finish(self) -> Result<Result<Index, ReadError>, tokio::task::JoinError> {
        drop(self.chunks);
        self.result.await
    }
}
