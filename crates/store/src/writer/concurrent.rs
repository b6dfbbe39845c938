//! Concurrent closures, for PostgreSQL: each is a transaction on a connection of its own.
//!
//! Closures are written as if they ran one after the other, and SERIALIZABLE ensures it: PostgreSQL rejects
//! one of two conflicting transactions, and that one is retried.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{ATTEMPTS_MAX, WriteError, WriteOutcome, run_once};
use crate::sql::postgres::Writers;
use crate::sql::{EngineError, RetryAction, Session};
use crate::store::SharedState;
use crate::write::{Outcome, WriteRequest};
use crate::{Error, FaultPoint, Tx};

/// The last retry of a closure starts within this time of its first run, because its caller waits.
const RETRY_WITHIN: Duration = Duration::from_secs(5);
/// The longest pause before the second run; it doubles from run to run.
const BACKOFF_MIN: Duration = Duration::from_millis(2);
const BACKOFF_MAX: Duration = Duration::from_millis(100);
/// Runs of a closure that breaks a constraint: the second one sees rows that the first may have missed.
const CONSTRAINT_ATTEMPTS_MAX: usize = 2;
/// From this run on a closure queues with all other conflicting ones, so that one of them succeeds each
/// time.
const QUEUE_FROM_ATTEMPT: usize = 3;
/// Running closures, most of them waiting for a connection. More wait in the queue.
const RUNNING_MAX: usize = 1024;

/// The time that running closures get once no store is left, so that a silent database does not block the
/// end of a process. Longer than statements take. Later uncommitted work is rolled back, and its caller
/// gets [`Error::Stopped`].
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs until no store is left and every closure has its result.
pub(super) async fn run(
    writers: Writers,
    shared: Arc<SharedState>,
    mut requests: mpsc::Receiver<Box<dyn WriteRequest>>,
) {
    let mut running = JoinSet::new();
    let retry_lock = Rc::new(Mutex::new(()));
    loop {
        tokio::select! {
            Some(_) = running.join_next() => {}
            request = requests.recv(), if running.len() < RUNNING_MAX => match request {
                Some(work) => {
                    running.spawn_local(write(writers.clone(), Arc::clone(&shared), Rc::clone(&retry_lock), work));
                }
                None => break,
            },
        }
    }
    let all = async { while running.join_next().await.is_some() {} };
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, all).await.is_err() {
        tracing::warn!(left = running.len(), "writes were abandoned at shutdown");
        running.shutdown().await;
    }
    writers.close().await;
}

async fn write(
    writers: Writers,
    shared: Arc<SharedState>,
    retry_lock: Rc<Mutex<()>>,
    mut work: Box<dyn WriteRequest>,
) {
    let started = Instant::now();
    let (mut runs, mut pause) = (0, BACKOFF_MIN);
    let mut retry_guard = None;
    let outcome = loop {
        runs += 1;
        let write_error = match run_attempt(&writers, &shared, work.as_mut()).await {
            Ok(()) => break Outcome::Committed,
            Err(refusal) => refusal,
        };
        if let Some(outcome) = final_outcome(write_error, runs, started) {
            break outcome;
        }
        if runs + 1 >= QUEUE_FROM_ATTEMPT && retry_guard.is_none() {
            let left = RETRY_WITHIN.saturating_sub(started.elapsed());
            match tokio::time::timeout(left, retry_lock.lock()).await {
                Ok(guard) => retry_guard = Some(guard),
                Err(_) => break Outcome::Failed(Error::Busy),
            }
            continue;
        }
        tokio::time::sleep(jittered(pause, &shared)).await;
        pause = BACKOFF_MAX.min(pause * 2);
    };
    if matches!(outcome, Outcome::RolledBack(Error::Full) | Outcome::Failed(Error::Full)) {
        shared.set_disk_full(true);
    }
    work.answer(outcome);
}

/// The outcome after a failed run; `None` when the closure must be retried.
fn final_outcome(write_error: WriteError, runs: usize, started: Instant) -> Option<Outcome> {
    let WriteError::Engine(EngineError { error, remedy }) = write_error else {
        return Some(write_error.outcome());
    };
    let in_time = started.elapsed() < RETRY_WITHIN;
    match remedy {
        // A row had changed before this transaction began.
        RetryAction::None if matches!(error, Error::Conflict) => {
            (runs >= ATTEMPTS_MAX).then_some(Outcome::Failed(Error::Busy))
        }
        RetryAction::None => Some(Outcome::RolledBack(error)),
        RetryAction::Retry => (!in_time).then_some(Outcome::Failed(Error::Busy)),
        RetryAction::RetryOnce => (runs >= CONSTRAINT_ATTEMPTS_MAX).then_some(Outcome::Failed(error)),
        RetryAction::Reconnect => (!in_time).then_some(Outcome::Failed(error)),
    }
}

/// One run in its own transaction. An uncommitted transaction is rolled back when its connection returns to
/// the pool.
async fn run_attempt(
    writers: &Writers,
    shared: &Arc<SharedState>,
    work: &mut dyn WriteRequest,
) -> Result<(), WriteError> {
    if shared.is_stopped() {
        return Err(WriteError::Broken(Error::Stopped));
    }
    let connection = writers.begin(work.isolation()).await.map_err(WriteError::Engine)?;
    let mut tx = Tx::new(Session::postgres(connection), Arc::clone(shared));
    let done = run_once(&mut tx, work).await?;
    commit(tx, shared, done).await.map_err(WriteError::Engine)
}

async fn commit(tx: Tx, shared: &SharedState, done: WriteOutcome) -> Result<(), EngineError> {
    // Another transaction may have reached the simulated crash.
    if shared.is_stopped() {
        return Err(Error::Stopped.into());
    }
    if !done.changed {
        return tx.session.commit().await;
    }
    shared.fault(FaultPoint::BeforeCommit)?;
    tx.session.commit().await?;
    shared.set_disk_full(false);
    shared.notify(done.signals);
    shared.fault(FaultPoint::AfterCommit)?;
    Ok(())
}

/// A random time up to `pause`, so that two conflicting transactions do not collide again.
fn jittered(pause: Duration, shared: &SharedState) -> Duration {
    let mut byte = [0];
    shared.random.fill(&mut byte);
    pause * u32::from(byte[0]) / 255
}
