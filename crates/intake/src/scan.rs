//! Reads what a source is out of its passing bytes, beside the task that writes them.

use bytes::Bytes;
use kinora_formats::mp4::ReadError;
use kinora_formats::{Scanned, Scanner};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

/// Chunks that wait to be scanned; with the largest chunks that a connection reads, of 256 KiB, 4 MiB.
const WAITING_MAX: usize = 16;

/// A scanner beside the task that brings the bytes. It borrows a thread only while it works, for a large `moov` takes its time and a slow
/// source brings nothing for long.
#[derive(Debug)]
pub struct Scan {
    orders: mpsc::Sender<Order>,
    result: JoinHandle<Result<Result<Scanned, ReadError>, JoinError>>,
}

/// The scanner has seen enough to know that this is hopeless; [`Scan::finish`] says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hopeless;

#[derive(Debug)]
enum Order {
    Take(Bytes),
    /// Answers the state after all bytes before this order.
    Checkpoint(oneshot::Sender<Vec<u8>>),
    /// Answers whether the bytes so far are in a container that is not read here.
    IsForeign(oneshot::Sender<bool>),
}

impl Scan {
    /// A scan that has seen no byte.
    pub fn begin() -> Self {
        Self::resume(Scanner::new(None))
    }

    /// Goes on where a scanner was.
    pub fn resume(scanner: Scanner) -> Self {
        let (orders, waiting) = mpsc::channel(WAITING_MAX);
        Self { orders, result: tokio::spawn(scan(scanner, waiting)) }
    }

    /// Takes the next bytes. Waits when the scanner is behind.
    pub async fn push(&self, chunk: Bytes) -> Result<(), Hopeless> {
        self.orders.send(Order::Take(chunk)).await.map_err(|_| Hopeless)
    }

    /// The state after all bytes that were pushed, for [`Scanner::from_checkpoint`].
    pub async fn checkpoint(&self) -> Result<Vec<u8>, Hopeless> {
        self.ask(Order::Checkpoint).await
    }

    /// Whether what was pushed is in a container that is not read here, so that all of it must be brought into another one.
    pub async fn is_foreign(&self) -> Result<bool, Hopeless> {
        self.ask(Order::IsForeign).await
    }

    async fn ask<T>(&self, order: fn(oneshot::Sender<T>) -> Order) -> Result<T, Hopeless> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(order(reply)).await.map_err(|_| Hopeless)?;
        answer.await.map_err(|_| Hopeless)
    }

    /// What the bytes were. After [`Hopeless`]: why.
    pub async fn finish(self) -> Result<Result<Scanned, ReadError>, JoinError> {
        drop(self.orders);
        self.result.await?
    }
}

/// Scans what comes until nothing more can, or the scanner gives up.
async fn scan(
    mut scanner: Scanner,
    mut waiting: mpsc::Receiver<Order>,
) -> Result<Result<Scanned, ReadError>, JoinError> {
    let mut orders = Vec::new();
    while waiting.recv_many(&mut orders, WAITING_MAX).await > 0 {
        let batch = std::mem::take(&mut orders);
        scanner = match spawn_blocking(move || carry_out(scanner, batch)).await? {
            Ok(scanner) => scanner,
            Err(error) => return Ok(Err(error)),
        };
    }
    spawn_blocking(move || scanner.finish()).await
}

fn carry_out(mut scanner: Scanner, orders: Vec<Order>) -> Result<Scanner, ReadError> {
    for order in orders {
        // Who asked and went away needs no answer.
        match order {
            Order::Take(bytes) => scanner.push(&bytes)?,
            Order::Checkpoint(reply) => drop(reply.send(scanner.to_checkpoint())),
            Order::IsForeign(reply) => drop(reply.send(scanner.is_foreign())),
        }
    }
    Ok(scanner)
}
