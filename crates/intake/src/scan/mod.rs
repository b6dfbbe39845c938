//! Scans a source while its bytes arrive, beside the task that writes them.
//!
//! A scan uses little memory: large boxes and their tables are stored in a temporary file ([`aside`]) and are
//! loaded only when a limit of the process allows it ([`turns`]). During a pause the whole state is stored
//! there.

mod aside;
mod turns;

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use kinora_domain::WorkspaceId;
use kinora_formats::mp4::ReadError;
use kinora_formats::{Aside as _, PushError, Scanned, Scanner};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::task::AbortOnDropHandle;

use self::aside::AsideFile;
pub use self::turns::{ScanTurn, ScanTurns};

/// Chunks that wait to be scanned; with the largest chunks that a connection reads, of 256 KiB, 1 MiB.
const WAITING_MAX: usize = 4;
/// Largest tables of a movie that stay in memory while the rest of its source comes: those of two hours at 30
/// frames a second with sound.
const TABLES_KEPT_MAX: usize = 1 << 20;

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
    /// Held as long as large tables are in memory; `None` for small ones.
    pub turn: Option<ScanTurn>,
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
    /// Answers the state after all bytes before this order, or somewhat earlier, and how many bytes lie in
    /// front of it.
    Checkpoint(oneshot::Sender<(u64, Vec<u8>)>),
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
        let aside = AsideFile::new(turns.folder.clone());
        let work = Work { scanner, aside, holds: Holds::BoxOrNothing };
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

    /// The state after all bytes that were pushed, for [`Scanner::from_checkpoint`], and how many bytes lie
    /// in front of it: less than were pushed while a large box comes.
    pub async fn checkpoint(&self) -> Result<(u64, Vec<u8>), Hopeless> {
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
    ) -> Result<(T, Option<ScanTurn>), ScanError> {
        let turn = match len {
            Some(len) => Some(self.turns.take(len, self.workspace).await),
            None => None,
        };
        let done = spawn_blocking(step).await.map_err(ScanError::Panicked)?;
        Ok((done, turn))
    }
}

/// Scans until all senders are gone or the scanner fails.
async fn scan(mut work: Work, place: Place, mut waiting: mpsc::Receiver<Order>) -> Result<Whole, ScanError> {
    let mut orders = Vec::new();
    while waiting.recv_many(&mut orders, WAITING_MAX).await > 0 {
        let mut batch: VecDeque<Order> = std::mem::take(&mut orders).into();
        while !batch.is_empty() {
            let needs = work.needs(batch.front());
            let (done, _turn) = place.run(needs, move || work.carry_out(batch)).await?;
            (work, batch) = done?;
        }
    }
    let (scanned, turn) = place.run(work.needs_to_finish(), move || work.finish()).await?;
    Ok(Whole { scanned: scanned?, turn })
}

/// A scanner and its temporary file.
struct Work {
    scanner: Scanner,
    aside: AsideFile,
    holds: Holds,
}

/// Content of the temporary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// The box that comes now, if it is large.
    BoxOrNothing,
    /// The tables of the movie.
    Tables,
    /// All that the scanner has read, as a checkpoint: the scanner itself is empty.
    Scanner,
}

impl Work {
    /// How many bytes the next step brings into memory, if many.
    fn needs(&self, next: Option<&Order>) -> Option<u64> {
        let is_brought_back = match self.holds {
            Holds::BoxOrNothing => self.scanner.due().is_some(),
            Holds::Tables => matches!(next, Some(Order::Checkpoint(_))),
            Holds::Scanner => self.aside.len() > TABLES_KEPT_MAX as u64 && !matches!(next, Some(Order::Rest)),
        };
        is_brought_back.then(|| self.aside.len())
    }

    /// The same for [`Work::finish`].
    fn needs_to_finish(&self) -> Option<u64> {
        Some(self.aside.len()).filter(|len| *len > 0)
    }

    /// Executes orders up to the next one that needs large data in memory. Returns the remaining orders.
    fn carry_out(mut self, mut orders: VecDeque<Order>) -> Result<(Self, VecDeque<Order>), ScanError> {
        self.read_due()?;
        let mut is_first = true;
        while let Some(order) = orders.pop_front() {
            if self.needs(Some(&order)).is_some() && !is_first {
                orders.push_front(order);
                break;
            }
            is_first = false;
            if !matches!(order, Order::Rest) {
                self.wake()?;
            }
            // A caller that was cancelled needs no answer.
            match order {
                Order::Take(mut bytes) => {
                    let taken = self.scanner.push_beside(&bytes, &mut self.aside)?;
                    let rest = bytes.split_off(taken);
                    if !rest.is_empty() {
                        orders.push_front(Order::Take(rest));
                    }
                }
                Order::Checkpoint(reply) => drop(reply.send(self.checkpoint()?)),
                Order::IsForeign(reply) => drop(reply.send(self.scanner.is_foreign())),
                Order::Rest => self.rest()?,
            }
        }
        Ok((self, orders))
    }

    /// Reads the box that is due, and lays its tables aside where they are large.
    fn read_due(&mut self) -> Result<(), ScanError> {
        if self.scanner.due().is_none() {
            return Ok(());
        }
        let body = self.aside.take()?;
        self.scanner.read_due(&body)?;
        drop(body);
        self.lay_tables_aside()
    }

    fn lay_tables_aside(&mut self) -> Result<(), ScanError> {
        if let Some(tables) = self.scanner.take_tables(TABLES_KEPT_MAX) {
            self.aside.lay(&tables)?;
            self.holds = Holds::Tables;
        }
        Ok(())
    }

    fn bring_tables_back(&mut self) -> Result<(), ScanError> {
        if self.holds == Holds::Tables {
            self.holds = Holds::BoxOrNothing;
            let tables = self.aside.take()?;
            self.scanner.put_tables(&tables).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(u64, Vec<u8>), ScanError> {
        let had_tables_aside = self.holds == Holds::Tables;
        self.bring_tables_back()?;
        let checkpoint = (self.scanner.checkpoint_len(), self.scanner.to_checkpoint());
        if had_tables_aside {
            self.lay_tables_aside()?;
        }
        Ok(checkpoint)
    }

    /// Lays the whole scanner aside. Where a box or tables lie there, little else is in memory.
    fn rest(&mut self) -> Result<(), ScanError> {
        if self.holds == Holds::BoxOrNothing && self.aside.len() == 0 {
            self.aside.lay(&self.scanner.to_checkpoint())?;
            self.scanner = Scanner::new(None);
            self.holds = Holds::Scanner;
        }
        Ok(())
    }

    fn wake(&mut self) -> Result<(), ScanError> {
        if self.holds == Holds::Scanner {
            self.holds = Holds::BoxOrNothing;
            self.scanner = Scanner::from_checkpoint(&self.aside.take()?).map_err(io::Error::other)?;
            self.lay_tables_aside()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Scanned, ScanError> {
        self.wake()?;
        self.bring_tables_back()?;
        self.scanner.end()?;
        if self.scanner.due().is_some() {
            let body = self.aside.take()?;
            self.scanner.read_due(&body)?;
        }
        Ok(self.scanner.finish()?)
    }
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
