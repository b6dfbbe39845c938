//! The writer thread, and the parts that both engines share.
//!
//! It is a thread with its own runtime: there the futures of closures need not be `Send`, and a busy server
//! does not delay a transaction that locks rows or the database. SQLite has one writer, so closures [share
//! commits](group_commit); PostgreSQL has many, so closures run [concurrently](concurrent).

mod concurrent;
mod group_commit;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

#[cfg(test)]
pub(crate) use group_commit::STATEMENTS as GROUP;

use crate::sql::postgres::{PgAddress, Writers};
use crate::sql::{EngineError, Session};
use crate::store::SharedState;
use crate::tx::CommitSignals;
use crate::write::{Outcome, WriteRequest};
use crate::{Error, Tx, pg_notify};

/// The most runs of a closure whose saved rows keep changing.
const ATTEMPTS_MAX: usize = 5;
/// The timeout of a closure. It awaits only the database, so only a closure that breaks this rule takes so
/// long.
const CLOSURE_TIME_MAX: Duration = Duration::from_secs(30);
/// Closures in the queue before callers must wait for a slot.
const QUEUE_MAX: usize = 1024;

/// The target of the writes.
pub(crate) enum Target {
    /// The only write connection of this process.
    Sqlite(Session),
    /// The address; the thread opens its own connections.
    Postgres(PgAddress),
}

/// The queue of closures.
pub(crate) type WriteQueue = mpsc::Sender<Box<dyn WriteRequest>>;

/// Starts the thread. When all senders are dropped and all closures have results, it ends and the receiver
/// is notified.
pub(crate) fn start(
    target: Target,
    shared: Arc<SharedState>,
) -> Result<(WriteQueue, oneshot::Receiver<()>), Error> {
    let (write_queue, receiver) = mpsc::channel(QUEUE_MAX);
    // Dropped unsent at the end.
    let (alive, ended) = oneshot::channel::<()>();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::internal)?;
    std::thread::Builder::new()
        .name("kinora-writer".into())
        .spawn(move || {
            runtime.block_on(LocalSet::new().run_until(run(target, shared, receiver)));
            drop(alive);
        })
        .map_err(Error::internal)?;
    Ok((write_queue, ended))
}

async fn run(target: Target, shared: Arc<SharedState>, receiver: mpsc::Receiver<Box<dyn WriteRequest>>) {
    match target {
        Target::Sqlite(session) => group_commit::run(session, shared, receiver).await,
        Target::Postgres(address) => {
            let notifier =
                tokio::task::spawn_local(pg_notify::send_notifications(address.clone(), Arc::clone(&shared)));
            concurrent::run(Writers::new(&address), shared, receiver).await;
            notifier.abort();
        }
    }
}

/// The result of a closure's run.
#[derive(Clone, Copy, Default)]
struct WriteOutcome {
    signals: CommitSignals,
    changed: bool,
}

/// Why a closure's transaction must be rolled back.
enum WriteError {
    /// The database, or the store, returned an error.
    Engine(EngineError),
    /// The closure returned an error.
    Closure,
    /// The closure did not end.
    Broken(Error),
}

impl WriteError {
    fn outcome(self) -> Outcome {
        match self {
            Self::Engine(EngineError { error, .. }) => Outcome::RolledBack(error),
            Self::Closure => Outcome::RolledBack(Error::internal("the closure of a write refused")),
            Self::Broken(error) => Outcome::Failed(error),
        }
    }
}

/// Runs a closure once. Catches its panics and limits its time.
async fn run_once(tx: &mut Tx, work: &mut dyn WriteRequest) -> Result<WriteOutcome, WriteError> {
    tx.signals = CommitSignals::default();
    tx.session.take_changed();
    let run = AssertUnwindSafe(work.run(tx)).catch_unwind();
    let result = match tokio::time::timeout(CLOSURE_TIME_MAX, run).await {
        Ok(Ok(content)) => Ok(content),
        Ok(Err(_)) => Err("the closure of a write panicked"),
        Err(_) => Err("the closure of a write took too long"),
    };
    let error = tx.session.take_error();
    match (result, error) {
        (Err(sentence), _) => Err(WriteError::Broken(Error::internal(sentence))),
        (Ok(_), Some(error)) => Err(WriteError::Engine(error)),
        (Ok(false), None) => Err(WriteError::Closure),
        (Ok(true), None) => Ok(WriteOutcome { signals: tx.signals, changed: tx.session.take_changed() }),
    }
}
