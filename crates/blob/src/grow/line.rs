//! The line from a growing object to the task that does its work.
//!
//! Bytes must be kept in time also when nobody calls, and a call that is cancelled must lose nothing; so a
//! task of its own writes and syncs, and a call puts what it wants into a short line to it. The task ends
//! with its first error, which the next call brings home.

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

/// What stands in the line at most: so many pieces of the caller's are held in memory besides what the task
/// holds.
const LINE_LEN: usize = 8;

/// What a call wants. Answers that do not come mean that the task has failed.
pub(crate) enum Command {
    Announce(Option<u64>),
    Write(Bytes),
    /// Answers what is kept.
    Keep(oneshot::Sender<u64>),
    /// The last command: the task ends, and answers the length.
    Finish,
    /// A range that is kept. A read that fails leaves the object as it is.
    Read(Range<u64>, oneshot::Sender<Result<Bytes>>),
}

/// How far a growing object is.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    kept: AtomicU64,
    readable_from: AtomicU64,
    /// The writer was dropped: what its task holds is free soon.
    is_left: AtomicBool,
}

impl Progress {
    pub(crate) fn new(kept: u64, readable_from: u64) -> Arc<Self> {
        Arc::new(Self {
            kept: AtomicU64::new(kept),
            readable_from: AtomicU64::new(readable_from),
            is_left: AtomicBool::new(false),
        })
    }

    pub(crate) fn kept(&self) -> u64 {
        self.kept.load(Ordering::Acquire)
    }

    /// The first `end` bytes are kept.
    pub(crate) fn keep_to(&self, end: u64) {
        self.kept.fetch_max(end, Ordering::AcqRel);
    }

    /// The first `end` bytes are in recorded parts.
    pub(crate) fn record_to(&self, end: u64) {
        self.readable_from.fetch_max(end, Ordering::AcqRel);
        self.keep_to(end);
    }

    pub(crate) fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Acquire)
    }

    pub(crate) fn readable_from(&self) -> u64 {
        self.readable_from.load(Ordering::Acquire)
    }
}

/// What became of opening a growing object.
pub(crate) enum Opened {
    Growing(Line),
    /// It has its name already, and this length.
    Made(u64),
}

/// The caller's end of the line. Dropped, it ends the task at once.
pub(crate) struct Line {
    commands: mpsc::Sender<Command>,
    /// Not in the line yet: what one call brought, or several that were cancelled.
    waiting: VecDeque<Command>,
    hold: Hold,
    /// `None` once it has ended and somebody was told how.
    task: Option<AbortOnDropHandle<Result<u64>>>,
}

/// Says, once dropped, that the writer has left.
pub(crate) struct Hold(Arc<Progress>);

impl Hold {
    pub(crate) fn new(progress: Arc<Progress>) -> Self {
        Self(progress)
    }

    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.is_left.store(true, Ordering::Release);
    }
}

impl Line {
    /// Starts the task that does the work.
    pub(crate) fn start<F>(hold: Hold, work: impl FnOnce(mpsc::Receiver<Command>) -> F) -> Self
    where
        F: Future<Output = Result<u64>> + Send + 'static,
    {
        let (commands, line) = mpsc::channel(LINE_LEN);
        let task = Some(AbortOnDropHandle::new(tokio::spawn(work(line))));
        Self { commands, waiting: VecDeque::new(), hold, task }
    }

    pub(crate) fn progress(&self) -> &Progress {
        self.hold.progress()
    }

    /// Sets a command behind all others. It goes with the next call that waits.
    pub(crate) fn push(&mut self, command: Command) {
        self.waiting.push_back(command);
    }

    /// Waits until all commands stand in the line. Cancelled, it goes on with the next call.
    pub(crate) async fn send(&mut self) -> Result<()> {
        if self.fill().await { Ok(()) } else { Err(self.failure().await) }
    }

    /// Whether all commands stand in the line; otherwise the task has ended.
    async fn fill(&mut self) -> bool {
        while !self.waiting.is_empty() {
            let Ok(place) = self.commands.reserve().await else { return false };
            if let Some(command) = self.waiting.pop_front() {
                place.send(command);
            }
        }
        true
    }

    /// Sends a command behind all others and waits for its answer.
    pub(crate) async fn ask<T>(&mut self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        self.push(command(answer));
        self.send().await?;
        match answered.await {
            Ok(answer) => Ok(answer),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Reads what is kept, beside the commands that wait. Why the task has ended is left for the next of
    /// them.
    pub(crate) async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let (answer, answered) = oneshot::channel();
        let sent = self.commands.send(Command::Read(range, answer)).await;
        sent.map_err(|_| lost())?;
        answered.await.map_err(|_| lost())?
    }

    /// Sends the last command and waits for the end. Cancelled, it may run again.
    pub(crate) async fn finish(&mut self) -> Result<u64> {
        self.push(Command::Finish);
        self.fill().await; // or it has ended already: by a failure, or by a call that was cancelled
        self.end().await
    }

    /// Why the task has ended, the first time; later that it has.
    async fn failure(&mut self) -> Error {
        self.end().await.err().unwrap_or_else(lost)
    }

    async fn end(&mut self) -> Result<u64> {
        self.waiting.clear();
        let Some(task) = &mut self.task else { return Err(lost()) };
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

fn lost() -> Error {
    Error::Internal {
        action: "write to a growing object",
        source: io::Error::other("an earlier write to it failed"),
    }
}
