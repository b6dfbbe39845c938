//! Closures beside each other, for PostgreSQL: each is a transaction on a connection of its own.
//!
//! They were written as if they ran one after the other, and SERIALIZABLE keeps it so: PostgreSQL refuses one
//! of two that stood in each other's way, and that one runs again.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Done, RUNS_MAX, Refusal, run_once};
use crate::sql::postgres::Writers;
use crate::sql::{EngineError, Remedy, Session};
use crate::store::Common;
use crate::write::{Outcome, Work};
use crate::{Error, FaultPoint, Tx};

/// No closure runs again later than this after its first run: whoever waits for it should hear something.
const AGAIN_WITHIN: Duration = Duration::from_secs(5);
/// Pause before the second run, at most; it doubles from run to run.
const PAUSE_FIRST: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(100);
/// Runs of a closure that breaks a constraint: the second one sees what the first may have missed.
const CONSTRAINT_RUNS_MAX: usize = 2;
/// From this run on a closure waits for its turn among all that stood in another's way: so one of them gets
/// through each time.
const TURN_FROM_RUN: usize = 3;
/// Closures under way, most of them waiting for a connection. More wait in the queue.
const UNDER_WAY_MAX: usize = 1024;

/// How long closures under way may take once no store is left, so that a database that fell silent does not
/// keep a process from ending. More than statements take; what is not committed by then is rolled back, and
/// its caller hears [`Error::Stopped`].
const END_TIME_MAX: Duration = Duration::from_secs(10);

/// Runs until no store is left and every closure has been answered.
pub(super) async fn run(writers: Writers, common: Arc<Common>, mut requests: mpsc::Receiver<Box<dyn Work>>) {
    let mut under_way = JoinSet::new();
    let turn = Rc::new(Mutex::new(()));
    loop {
        tokio::select! {
            Some(_) = under_way.join_next() => {}
            request = requests.recv(), if under_way.len() < UNDER_WAY_MAX => match request {
                Some(work) => {
                    under_way.spawn_local(write(writers.clone(), Arc::clone(&common), Rc::clone(&turn), work));
                }
                None => break,
            },
        }
    }
    let all = async { while under_way.join_next().await.is_some() {} };
    if tokio::time::timeout(END_TIME_MAX, all).await.is_err() {
        tracing::warn!(left = under_way.len(), "writes were given up at the end");
        under_way.shutdown().await;
    }
    writers.close().await;
}

async fn write(writers: Writers, common: Arc<Common>, turn: Rc<Mutex<()>>, mut work: Box<dyn Work>) {
    let started = Instant::now();
    let (mut runs, mut pause) = (0, PAUSE_FIRST);
    let mut my_turn = None;
    let outcome = loop {
        runs += 1;
        let refusal = match once(&writers, &common, work.as_mut()).await {
            Ok(()) => break Outcome::Committed,
            Err(refusal) => refusal,
        };
        if let Some(outcome) = last(refusal, runs, started) {
            break outcome;
        }
        if runs + 1 >= TURN_FROM_RUN && my_turn.is_none() {
            let left = AGAIN_WITHIN.saturating_sub(started.elapsed());
            match tokio::time::timeout(left, turn.lock()).await {
                Ok(guard) => my_turn = Some(guard),
                Err(_) => break Outcome::Failed(Error::Busy),
            }
            continue;
        }
        tokio::time::sleep(jittered(pause, &common)).await;
        pause = PAUSE_MAX.min(pause * 2);
    };
    if matches!(outcome, Outcome::Undone(Error::Full) | Outcome::Failed(Error::Full)) {
        common.note_full(true);
    }
    work.answer(outcome);
}

/// The answer after a run that was refused; `None` when the closure is to run again.
fn last(refusal: Refusal, runs: usize, started: Instant) -> Option<Outcome> {
    let Refusal::Engine(EngineError { error, remedy }) = refusal else { return Some(refusal.outcome()) };
    let in_time = started.elapsed() < AGAIN_WITHIN;
    match remedy {
        // A row that had moved before this transaction began.
        Remedy::None if matches!(error, Error::Conflict) => {
            (runs >= RUNS_MAX).then_some(Outcome::Failed(Error::Busy))
        }
        Remedy::None => Some(Outcome::Undone(error)),
        Remedy::Again => (!in_time).then_some(Outcome::Failed(Error::Busy)),
        Remedy::Once => (runs >= CONSTRAINT_RUNS_MAX).then_some(Outcome::Failed(error)),
        Remedy::Reconnect => (!in_time).then_some(Outcome::Failed(error)),
    }
}

/// One run in a transaction of its own. A transaction that is not committed is rolled back when its
/// connection is given back.
async fn once(writers: &Writers, common: &Arc<Common>, work: &mut dyn Work) -> Result<(), Refusal> {
    if common.is_stopped() {
        return Err(Refusal::Broken(Error::Stopped));
    }
    let connection = writers.begin(work.isolation()).await.map_err(Refusal::Engine)?;
    let mut tx = Tx::new(Session::postgres(connection), Arc::clone(common));
    let done = run_once(&mut tx, work).await?;
    commit(tx, common, done).await.map_err(Refusal::Engine)
}

async fn commit(tx: Tx, common: &Common, done: Done) -> Result<(), EngineError> {
    // Another transaction may have been where the process was to die.
    if common.is_stopped() {
        return Err(Error::Stopped.into());
    }
    if !done.changed {
        return tx.session.commit().await;
    }
    common.fault(FaultPoint::BeforeCommit)?;
    tx.session.commit().await?;
    common.note_full(false);
    common.tell(done.effects);
    common.fault(FaultPoint::AfterCommit)?;
    Ok(())
}

/// Some time up to `pause`, so that two that stood in each other's way do not meet again.
fn jittered(pause: Duration, common: &Common) -> Duration {
    let mut byte = [0];
    common.random.fill(&mut byte);
    pause * u32::from(byte[0]) / 255
}
