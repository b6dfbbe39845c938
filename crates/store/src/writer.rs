//! The thread that writes: it runs waiting closures as savepoints of one commit.
//!
//! A sync a transaction would cap us at some hundred transactions a second. A closure that waits alone is committed at once;
//! those that came while a commit was under way share the next one.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::sql::{Session, Statement, statements};
use crate::store::Common;
use crate::tx::Effects;
use crate::write::{Outcome, Work};
use crate::{Error, FaultAction, FaultPoint, Tx};

/// Most closures of one commit. Design: Data.
const GROUP_MAX: usize = 128;
/// No closure joins a commit that is older: other processes wait for the database too.
const GROUP_TIME_MAX: Duration = Duration::from_millis(50);
/// How often a closure runs when the rows it saves keep moving. Design: Data.
const RUNS_MAX: usize = 5;
/// A closure awaits nothing but the database, so it cannot take this long unless it breaks that rule.
const CLOSURE_TIME_MAX: Duration = Duration::from_secs(30);
/// Closures that wait before callers have to wait for a place.
pub(crate) const QUEUE_MAX: usize = 1024;

statements! {
    // Immediate: a transaction that reads first and then writes could not wait for the writer.
    BEGIN = "BEGIN IMMEDIATE";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
    SAVEPOINT = "SAVEPOINT closure";
    RELEASE = "RELEASE closure";
    ROLLBACK_TO = "ROLLBACK TO closure";
}

/// Runs until no store is left, then closes the connection. `session` is the only writer of this process.
pub(crate) async fn run(session: Session, common: Arc<Common>, mut requests: mpsc::Receiver<Box<dyn Work>>) {
    let mut writer = Writer { tx: Tx::new(session, common) };
    while let Some(first) = requests.recv().await {
        if writer.tx.common.is_stopped() {
            first.answer(Outcome::Failed(Error::Stopped));
        } else {
            writer.group(first, &mut requests).await;
        }
    }
    if let Err(error) = writer.tx.session.close().await {
        tracing::warn!(error = &error as &dyn std::error::Error, "the database was not closed in order");
    }
}

struct Writer {
    tx: Tx,
}

/// What a closure did.
#[derive(Clone, Copy, Default)]
struct Done {
    effects: Effects,
    changed: bool,
}

/// Why a closure's savepoint is no more.
enum Failure {
    /// It was rolled back alone; its neighbours are untouched.
    Undone(Outcome),
    /// The whole transaction is gone.
    Lost(Error),
}

impl Writer {
    async fn group(&mut self, first: Box<dyn Work>, requests: &mut mpsc::Receiver<Box<dyn Work>>) {
        if let Err(error) = self.control(BEGIN).await {
            self.tx.common.note_full(matches!(error, Error::Full));
            // Whoever waits behind would wait as long again.
            let waiting = std::iter::from_fn(|| requests.try_recv().ok());
            std::iter::once(first)
                .chain(waiting)
                .for_each(|work| work.answer(Outcome::Failed(error.clone())));
            return;
        }
        let started = Instant::now();
        let mut all = Done::default();
        let mut outcomes = Vec::new();
        let mut ended = Ok(());
        let mut next = Some(first);
        while let Some(mut work) = next.take() {
            match self.closure(work.as_mut()).await {
                Ok(done) => {
                    all.effects.add(done.effects);
                    all.changed |= done.changed;
                    outcomes.push((work, Outcome::Committed));
                }
                Err(Failure::Undone(outcome)) => outcomes.push((work, outcome)),
                Err(Failure::Lost(error)) => {
                    outcomes.push((work, Outcome::Undone(error.clone())));
                    ended = Err(error);
                    break;
                }
            }
            if outcomes.len() < GROUP_MAX && started.elapsed() < GROUP_TIME_MAX {
                next = requests.try_recv().ok();
            }
        }
        if ended.is_ok() {
            ended = self.commit(all).await;
        }
        if ended.is_err() {
            // Whatever is left of the transaction; mostly nothing is, and then this fails.
            let _ = self.control(ROLLBACK).await;
        }
        self.answer(outcomes, ended, all.changed);
    }

    /// Runs one closure in a savepoint, again when a row it saved had moved.
    async fn closure(&mut self, work: &mut dyn Work) -> Result<Done, Failure> {
        for _ in 0..RUNS_MAX {
            self.control(SAVEPOINT).await.map_err(Failure::Lost)?;
            let outcome = self.run(work).await;
            if let Ok(done) = outcome {
                self.control(RELEASE).await.map_err(Failure::Lost)?;
                return Ok(done);
            }
            for statement in [ROLLBACK_TO, RELEASE] {
                self.control(statement).await.map_err(Failure::Lost)?;
            }
            match outcome {
                Err(Outcome::Undone(Error::Conflict)) => {}
                Err(outcome) => return Err(Failure::Undone(outcome)),
                Ok(_) => unreachable!("returned above"),
            }
        }
        Err(Failure::Undone(Outcome::Failed(Error::Busy)))
    }

    async fn run(&mut self, work: &mut dyn Work) -> Result<Done, Outcome> {
        self.tx.effects = Effects::default();
        self.tx.session.take_changed();
        let run = AssertUnwindSafe(work.run(&mut self.tx)).catch_unwind();
        let content = match tokio::time::timeout(CLOSURE_TIME_MAX, run).await {
            Ok(Ok(content)) => content,
            Ok(Err(_)) => return Err(self.broken("the closure of a write panicked")),
            Err(_) => return Err(self.broken("the closure of a write took too long")),
        };
        match self.tx.session.take_error() {
            Some(error) => Err(Outcome::Undone(error)),
            None if content => Ok(Done { effects: self.tx.effects, changed: self.tx.session.take_changed() }),
            None => Err(Outcome::Undone(Error::internal("the closure of a write refused"))),
        }
    }

    fn broken(&mut self, sentence: &'static str) -> Outcome {
        self.tx.session.take_error();
        Outcome::Failed(Error::internal(sentence))
    }

    async fn commit(&mut self, all: Done) -> Result<(), Error> {
        if !all.changed {
            return self.control(COMMIT).await;
        }
        self.fault(FaultPoint::BeforeCommit)?;
        self.control(COMMIT).await?;
        self.tx.common.tell(all.effects);
        self.fault(FaultPoint::AfterCommit)
    }

    fn answer(&self, outcomes: Vec<(Box<dyn Work>, Outcome)>, ended: Result<(), Error>, changed: bool) {
        let refused = outcomes.iter().any(|(_, outcome)| {
            matches!(outcome, Outcome::Undone(Error::Full) | Outcome::Failed(Error::Full))
        });
        if refused || matches!(ended, Err(Error::Full)) {
            self.tx.common.note_full(true);
        } else if changed && ended.is_ok() {
            self.tx.common.note_full(false);
        }
        for (work, outcome) in outcomes {
            work.answer(match (&ended, outcome) {
                (Err(error), Outcome::Committed) => Outcome::Failed(error.clone()),
                (_, outcome) => outcome,
            });
        }
    }

    fn fault(&self, point: FaultPoint) -> Result<(), Error> {
        match self.tx.common.faults.as_ref().map(|faults| faults.at(point)) {
            None | Some(FaultAction::Continue) => Ok(()),
            Some(FaultAction::Fail) => Err(Error::Full),
            Some(FaultAction::Stop) => {
                self.tx.common.stop();
                Err(Error::Stopped)
            }
        }
    }

    async fn control(&mut self, statement: Statement) -> Result<(), Error> {
        let result = self.tx.session.execute(statement, Vec::new()).await.map(drop);
        self.tx.session.take_error();
        result
    }
}
