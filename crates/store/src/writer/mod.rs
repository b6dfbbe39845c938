//! The thread that writes, and what both ways of writing share.
//!
//! It is a thread with a runtime of its own: there the futures of closures need not be `Send`, and a busy
//! server does not hold up a transaction that holds rows or the database. SQLite has one writer, so closures
//! [share commits](group); PostgreSQL has many, so closures run [beside each other](beside).

mod beside;
mod group;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

#[cfg(test)]
pub(crate) use group::STATEMENTS as GROUP;

use crate::sql::postgres::{Place, Writers};
use crate::sql::{EngineError, Session};
use crate::store::Common;
use crate::tx::Effects;
use crate::write::{Outcome, Work};
use crate::{Error, Tx, notify};

/// How often a closure runs when the rows it saves keep moving.
const RUNS_MAX: usize = 5;
/// A closure awaits nothing but the database, so it cannot take this long unless it breaks that rule.
const CLOSURE_TIME_MAX: Duration = Duration::from_secs(30);
/// Closures that wait before callers have to wait for a place.
const QUEUE_MAX: usize = 1024;

/// What the thread writes to.
pub(crate) enum Target {
    /// The only connection of this process that writes.
    Sqlite(Session),
    /// The thread makes its own connections.
    Postgres(Place),
}

/// Where closures are sent.
pub(crate) type Requests = mpsc::Sender<Box<dyn Work>>;

/// Starts the thread. It ends, and the receiver hears of it, when all senders are gone and everything sent
/// was answered.
pub(crate) fn start(target: Target, common: Arc<Common>) -> Result<(Requests, oneshot::Receiver<()>), Error> {
    let (requests, waiting) = mpsc::channel(QUEUE_MAX);
    // Dropped unsent at the end.
    let (alive, ended) = oneshot::channel::<()>();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::internal)?;
    std::thread::Builder::new()
        .name("kinora-writer".into())
        .spawn(move || {
            runtime.block_on(LocalSet::new().run_until(run(target, common, waiting)));
            drop(alive);
        })
        .map_err(Error::internal)?;
    Ok((requests, ended))
}

async fn run(target: Target, common: Arc<Common>, waiting: mpsc::Receiver<Box<dyn Work>>) {
    match target {
        Target::Sqlite(session) => group::run(session, common, waiting).await,
        Target::Postgres(place) => {
            let telling = tokio::task::spawn_local(notify::tell(place.clone(), Arc::clone(&common)));
            beside::run(Writers::new(&place), common, waiting).await;
            telling.abort();
        }
    }
}

/// What a closure did.
#[derive(Clone, Copy, Default)]
struct Done {
    effects: Effects,
    changed: bool,
}

/// Why a closure's transaction is to be undone.
enum Refusal {
    /// The database, or the store, refused something.
    Engine(EngineError),
    /// The closure itself refused.
    Closure,
    /// The closure did not end.
    Broken(Error),
}

impl Refusal {
    fn outcome(self) -> Outcome {
        match self {
            Self::Engine(EngineError { error, .. }) => Outcome::Undone(error),
            Self::Closure => Outcome::Undone(Error::internal("the closure of a write refused")),
            Self::Broken(error) => Outcome::Failed(error),
        }
    }
}

/// Runs a closure once. Neither panics nor takes for ever, whatever the closure does.
async fn run_once(tx: &mut Tx, work: &mut dyn Work) -> Result<Done, Refusal> {
    tx.effects = Effects::default();
    tx.session.take_changed();
    let run = AssertUnwindSafe(work.run(tx)).catch_unwind();
    let content = match tokio::time::timeout(CLOSURE_TIME_MAX, run).await {
        Ok(Ok(content)) => Ok(content),
        Ok(Err(_)) => Err("the closure of a write panicked"),
        Err(_) => Err("the closure of a write took too long"),
    };
    let error = tx.session.take_error();
    match (content, error) {
        (Err(sentence), _) => Err(Refusal::Broken(Error::internal(sentence))),
        (Ok(_), Some(error)) => Err(Refusal::Engine(error)),
        (Ok(false), None) => Err(Refusal::Closure),
        (Ok(true), None) => Ok(Done { effects: tx.effects, changed: tx.session.take_changed() }),
    }
}
