//! Scans a source while its bytes arrive, beside the task that writes them.
//!
//! A scan uses little memory ([`work`]): large boxes and their tables are stored in temporary files
//! ([`aside`]) and are loaded only when a limit of the process allows it ([`turns`]). Tables that grow while
//! the bytes come stay in memory as long as another limit allows it. During a pause the whole state is
//! stored.

mod aside;
mod checkpoint;
mod index;
mod turns;
mod work;

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
pub use self::index::StoredIndex;
pub use self::turns::{ScanTurn, ScanTurns};
use self::work::Work;

/// Chunks that wait to be scanned, and as many that are being scanned. A connection reads at most 256 KiB at
/// once, so all of them have 1 MiB.
const WAITING_MAX: usize = 2;

/// A scanner beside the task that brings the bytes. It borrows a thread only while it works, for a large
/// `moov` takes its time and a slow source brings nothing for long.
#[derive(Debug)]
pub struct Scan {
    orders: mpsc::Sender<Order>,
    /// Aborted on drop, so that an abandoned scan does not wait for a turn.
    result: AbortOnDropHandle<Result<Whole, ScanError>>,
}

/// What the bytes were.
#[derive(Debug)]
pub struct Whole {
    /// What they are packed in, and how they are read.
    pub scanned: Scanned,
    /// Held as long as its tables are in memory.
    pub turn: ScanTurn,
}

/// Why a scan ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The source is of no use.
    #[error(transparent)]
    Read(ReadError),
    /// The temporary file failed.
    #[error("a part of the source could not be laid aside")]
    Aside(#[source] io::Error),
    /// A defect of the scanner.
    #[error("the scanner panicked")]
    Panicked(#[source] JoinError),
}

/// The scanner has seen enough to know that this is hopeless; [`Scan::finish`] says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hopeless;

#[derive(Debug)]
enum Order {
    Take(Bytes),
    /// Answers the state after all bytes before this order, or somewhat earlier.
    Checkpoint(oneshot::Sender<Checkpoint>),
    /// Answers whether the bytes so far are in a container that is not read here.
    IsForeign(oneshot::Sender<bool>),
    /// Nothing comes for a while.
    Rest,
}

impl Scan {
    /// A scan that has seen no byte, for this workspace.
    pub fn begin(turns: &ScanTurns, workspace: Option<WorkspaceId>) -> Self {
        Self::resume(turns, workspace, Scanner::new(None))
    }

    /// Goes on where a scanner was.
    pub fn resume(turns: &ScanTurns, workspace: Option<WorkspaceId>, scanner: Scanner) -> Self {
        let (orders, waiting) = mpsc::channel(WAITING_MAX);
        let work = Work::new(scanner, turns.memory(workspace));
        let place = Place { turns: turns.clone(), workspace };
        Self { orders, result: AbortOnDropHandle::new(tokio::spawn(scan(work, place, waiting))) }
    }

    /// Takes the next bytes. Waits when the scanner is behind.
    pub async fn push(&self, chunk: Bytes) -> Result<(), Hopeless> {
        self.orders.send(Order::Take(chunk)).await.map_err(|_| Hopeless)
    }

    /// Stores the state in the temporary file until more bytes arrive.
    pub async fn rest(&self) {
        // A scan that has ended holds nothing.
        let _ = self.orders.send(Order::Rest).await;
    }

    /// The state after all bytes that were pushed, or that in front of a large box that comes now.
    ///
    /// [`Hopeless`] also where there is no room for a large state.
    pub async fn checkpoint(&self) -> Result<Checkpoint, Hopeless> {
        self.ask(Order::Checkpoint).await
    }

    /// Whether what was pushed is in a container that is not read here, so that all of it must be brought
    /// into another one.
    pub async fn is_foreign(&self) -> Result<bool, Hopeless> {
        self.ask(Order::IsForeign).await
    }

    async fn ask<T>(&self, order: fn(oneshot::Sender<T>) -> Order) -> Result<T, Hopeless> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(order(reply)).await.map_err(|_| Hopeless)?;
        answer.await.map_err(|_| Hopeless)
    }

    /// What the bytes were. After [`Hopeless`]: why.
    pub async fn finish(self) -> Result<Whole, ScanError> {
        drop(self.orders);
        self.result.await.map_err(ScanError::Panicked)?
    }
}

/// The limits and the workspace of a scan.
struct Place {
    turns: ScanTurns,
    workspace: Option<WorkspaceId>,
}

impl Place {
    /// Runs `step` on a thread for it, in its turn where `len` bytes must be in memory.
    async fn run<T: Send + 'static>(
        &self,
        len: Option<u64>,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, ScanTurn), ScanError> {
        let turn = match len {
            Some(len) => self.turns.take(len, self.workspace).await,
            None => ScanTurn::default(),
        };
        let thread = self.turns.thread(self.workspace).await;
        // Given back by the thread: a step ends, even where the scan was dropped meanwhile.
        let step = move || {
            let done = step();
            drop(thread);
            (done, turn)
        };
        spawn_blocking(step).await.map_err(ScanError::Panicked)
    }
}

/// Scans until all senders are gone or the scanner fails.
async fn scan(mut work: Work, place: Place, mut waiting: mpsc::Receiver<Order>) -> Result<Whole, ScanError> {
    // One that goes on may have large tables already.
    let (fitted, _) = place.run(None, move || work.fit_memory().map(|()| work)).await?;
    work = fitted?;
    let mut orders = Vec::new();
    while waiting.recv_many(&mut orders, WAITING_MAX).await > 0 {
        let mut batch: VecDeque<Order> = std::mem::take(&mut orders).into();
        while !batch.is_empty() {
            let needs = work.needs(batch.front());
            let (done, _turn) = place.run(needs, move || work.carry_out(batch)).await?;
            (work, batch) = done?;
        }
    }
    let (finished, turn) = place.run(work.needs_to_finish(), move || work.finish()).await?;
    let (scanned, memory) = finished?;
    Ok(Whole { scanned, turn: turn.with(memory) })
}

impl From<ReadError> for ScanError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Aside(error)
    }
}

impl From<PushError> for ScanError {
    fn from(error: PushError) -> Self {
        match error {
            PushError::Read(error) => Self::Read(error),
            PushError::Aside(error) => Self::Aside(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_scan_that_is_dropped_holds_its_place_until_its_step_ends() {
        let folder = tempfile::tempdir().unwrap();
        let turns = ScanTurns::new(folder.path().into());
        let place = Place { turns: turns.clone(), workspace: None };
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (begin, begun) = oneshot::channel();
        let step = move || {
            begin.send(()).unwrap();
            let _ = ended.recv();
        };
        let mut running = Box::pin(place.run(Some(1 << 30), step));
        assert!((&mut running).now_or_never().is_none());
        begun.await.unwrap();
        drop(running);

        let mut next = Box::pin(turns.take(1 << 30, None));
        assert!((&mut next).now_or_never().is_none(), "the step still has its tables");
        drop(end);
        assert!(next.await.holds_place());
    }
}
