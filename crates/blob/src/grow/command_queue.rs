//! The queue from a growing object to the task that writes it.
//!
//! Bytes must become durable in time also without a call, and a cancelled call must lose nothing. So a
//! separate task writes and syncs, and calls send commands to it through a short queue. The task ends with
//! its first error, which the next call returns.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::{Error, Result};

/// The most commands in the queue: the buffers of this many writes are in memory besides those of the task.
const QUEUE_LEN: usize = 8;

/// A command of a call. A missing reply means that the task has failed.
pub(crate) enum Command {
    Announce(Option<u64>),
    Write(Bytes),
    /// Replies with the number of durable bytes.
    Sync(oneshot::Sender<u64>),
    /// The last command: the task ends, and returns the length.
    Finish,
    /// A durable range. A failed read does not change the object.
    Read(Range<u64>, oneshot::Sender<Result<Bytes>>),
}

/// The progress of a growing object.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    synced: AtomicU64,
    readable_from: AtomicU64,
    /// The writer was dropped, so its task will soon release its file or memory.
    is_closed: AtomicBool,
}

impl Progress {
    pub(crate) fn new(synced: u64, readable_from: u64) -> Arc<Self> {
        Arc::new(Self {
            synced: AtomicU64::new(synced),
            readable_from: AtomicU64::new(readable_from),
            is_closed: AtomicBool::new(false),
        })
    }

    pub(crate) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// Sets that the first `end` bytes are durable.
    pub(crate) fn set_synced(&self, end: u64) {
        self.synced.fetch_max(end, Ordering::AcqRel);
    }

    /// Sets that the first `end` bytes are in recorded parts: they are durable, and cannot be read here.
    pub(crate) fn set_readable_from(&self, end: u64) {
        self.readable_from.fetch_max(end, Ordering::AcqRel);
        self.set_synced(end);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(crate) fn readable_from(&self) -> u64 {
        self.readable_from.load(Ordering::Acquire)
    }
}

/// The result of opening a growing object.
pub(crate) enum OpenOutcome {
    Growing(CommandQueue),
    /// It is finished already, with this length.
    Finished(u64),
}

/// The caller's end of the queue. Dropping it ends the task at once.
pub(crate) struct CommandQueue {
    commands: mpsc::Sender<Command>,
    /// Commands that are not in the queue yet: those of one call, or of several cancelled ones.
    unsent: VecDeque<Command>,
    guard: WriterGuard,
    /// `None` once the task has ended and a caller has its result.
    task: Option<AbortOnDropHandle<Result<u64>>>,
}

/// Marks the writer as dropped, when this is dropped.
pub(crate) struct WriterGuard(Arc<Progress>);

impl WriterGuard {
    pub(crate) fn new(progress: Arc<Progress>) -> Self {
        Self(progress)
    }

    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.0
    }
}

impl Drop for WriterGuard {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::Release);
    }
}

impl CommandQueue {
    /// Starts the task.
    pub(crate) fn start<F>(guard: WriterGuard, work: impl FnOnce(mpsc::Receiver<Command>) -> F) -> Self
    where
        F: Future<Output = Result<u64>> + Send + 'static,
    {
        let (commands, queue) = mpsc::channel(QUEUE_LEN);
        let task = Some(AbortOnDropHandle::new(tokio::spawn(work(queue))));
        Self { commands, unsent: VecDeque::new(), guard, task }
    }

    pub(crate) fn progress(&self) -> &Progress {
        self.guard.progress()
    }

    /// Adds a command after all others. The next call that waits sends it.
    pub(crate) fn push(&mut self, command: Command) {
        self.unsent.push_back(command);
    }

    /// Waits until all commands are in the queue. A cancelled call continues with the next one.
    pub(crate) async fn send(&mut self) -> Result<()> {
        if self.queue_unsent().await { Ok(()) } else { Err(self.failure().await) }
    }

    /// Moves all commands into the queue; `false` if the task has ended.
    async fn queue_unsent(&mut self) -> bool {
        while !self.unsent.is_empty() {
            let Ok(permit) = self.commands.reserve().await else { return false };
            if let Some(command) = self.unsent.pop_front() {
                permit.send(command);
            }
        }
        true
    }

    /// Sends a command after all others and waits for its reply.
    pub(crate) async fn request<T>(
        &mut self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        self.push(command(answer));
        self.send().await?;
        match answered.await {
            Ok(answer) => Ok(answer),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Reads durable bytes, without sending the unsent commands first. The next of these gets the error
    /// with which the task has ended.
    pub(crate) async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let (answer, answered) = oneshot::channel();
        let sent = self.commands.send(Command::Read(range, answer)).await;
        sent.map_err(|_| earlier_write_failed())?;
        answered.await.map_err(|_| earlier_write_failed())?
    }

    /// Sends the last command and waits for the end. May run again after it was cancelled.
    pub(crate) async fn finish(&mut self) -> Result<u64> {
        self.push(Command::Finish);
        self.queue_unsent().await; // or it has ended already: by a failure, or by a call that was cancelled
        self.join_task().await
    }

    /// The error of the task, the first time; later only that it has ended.
    async fn failure(&mut self) -> Error {
        self.join_task().await.err().unwrap_or_else(earlier_write_failed)
    }

    async fn join_task(&mut self) -> Result<u64> {
        self.unsent.clear();
        let Some(task) = &mut self.task else { return Err(earlier_write_failed()) };
        let joined = task.await;
        self.task = None;
        match joined {
            Ok(ended) => ended,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Error::Stopped), // the runtime is going down
            },
        }
    }
}

fn earlier_write_failed() -> Error {
    Error::Internal {
        action: "write to a growing object",
        source: io::Error::other("an earlier write to it failed"),
    }
}
