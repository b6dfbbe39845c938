//! Group commit, for SQLite: closures run one after the other, each in a savepoint.
//!
//! One sync per transaction would limit us to some hundred transactions a second. A closure that waits
//! alone is committed at once; those that arrive during a commit share the next one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{ATTEMPTS_MAX, WriteError, WriteOutcome, run_once};
use crate::sql::{EngineError, Session, Statement, statements};
use crate::store::SharedState;
use crate::write::{Outcome, WriteRequest};
use crate::{Error, FaultPoint, Tx};

/// The most closures of one commit. D-0018.
const GROUP_MAX: usize = 128;
/// No closure joins an older commit: other processes wait for the database too.
const GROUP_TIME_MAX: Duration = Duration::from_millis(50);

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
pub(super) async fn run(
    session: Session,
    shared: Arc<SharedState>,
    mut requests: mpsc::Receiver<Box<dyn WriteRequest>>,
) {
    let mut writer = Writer { tx: Tx::new(session, shared) };
    while let Some(first) = requests.recv().await {
        if writer.tx.shared.is_stopped() {
            first.answer(Outcome::Failed(Error::Stopped));
        } else {
            writer.commit_group(first, &mut requests).await;
        }
    }
    if let Err(error) = writer.tx.session.close().await {
        tracing::warn!(error = &error as &dyn std::error::Error, "the database was not closed cleanly");
    }
}

struct Writer {
    tx: Tx,
}

/// Why a closure's savepoint has ended.
enum Failure {
    /// It was rolled back alone; the other closures are not affected.
    SavepointRolledBack(Outcome),
    /// The whole transaction was rolled back.
    TransactionRolledBack(Error),
}

impl Writer {
    async fn commit_group(
        &mut self,
        first: Box<dyn WriteRequest>,
        requests: &mut mpsc::Receiver<Box<dyn WriteRequest>>,
    ) {
        if let Err(error) = self.control(BEGIN).await {
            self.tx.shared.set_disk_full(matches!(error, Error::Full));
            // The waiting closures fail too, because each would wait as long again.
            let waiting = std::iter::from_fn(|| requests.try_recv().ok());
            std::iter::once(first)
                .chain(waiting)
                .for_each(|work| work.answer(Outcome::Failed(error.clone())));
            return;
        }
        let started = Instant::now();
        let mut group_outcome = WriteOutcome::default();
        let mut outcomes = Vec::new();
        let mut transaction_result = Ok(());
        let mut next = Some(first);
        while let Some(mut work) = next.take() {
            match self.run_in_savepoint(work.as_mut()).await {
                Ok(done) => {
                    group_outcome.signals.add(done.signals);
                    group_outcome.changed |= done.changed;
                    outcomes.push((work, Outcome::Committed));
                }
                Err(Failure::SavepointRolledBack(outcome)) => outcomes.push((work, outcome)),
                Err(Failure::TransactionRolledBack(error)) => {
                    outcomes.push((work, Outcome::RolledBack(error.clone())));
                    transaction_result = Err(error);
                    break;
                }
            }
            if outcomes.len() < GROUP_MAX && started.elapsed() < GROUP_TIME_MAX {
                next = requests.try_recv().ok();
            }
        }
        if transaction_result.is_ok() {
            transaction_result = self.commit(group_outcome).await;
        }
        if transaction_result.is_err() {
            // Ends the rest of the transaction; usually there is none, and then this fails.
            let _ = self.control(ROLLBACK).await;
        }
        self.answer(outcomes, transaction_result, group_outcome.changed);
    }

    /// Runs one closure in a savepoint, and retries it when a row that it saved had changed.
    async fn run_in_savepoint(&mut self, work: &mut dyn WriteRequest) -> Result<WriteOutcome, Failure> {
        for _ in 0..ATTEMPTS_MAX {
            self.control(SAVEPOINT).await.map_err(Failure::TransactionRolledBack)?;
            let write_error = match run_once(&mut self.tx, work).await {
                Ok(done) => {
                    self.control(RELEASE).await.map_err(Failure::TransactionRolledBack)?;
                    return Ok(done);
                }
                Err(refusal) => refusal,
            };
            for statement in [ROLLBACK_TO, RELEASE] {
                self.control(statement).await.map_err(Failure::TransactionRolledBack)?;
            }
            if !matches!(write_error, WriteError::Engine(EngineError { error: Error::Conflict, .. })) {
                return Err(Failure::SavepointRolledBack(write_error.outcome()));
            }
        }
        Err(Failure::SavepointRolledBack(Outcome::Failed(Error::Busy)))
    }

    async fn commit(&mut self, group_outcome: WriteOutcome) -> Result<(), Error> {
        if !group_outcome.changed {
            return self.control(COMMIT).await;
        }
        self.tx.shared.fault(FaultPoint::BeforeCommit)?;
        self.control(COMMIT).await?;
        self.tx.shared.notify(group_outcome.signals);
        self.tx.shared.fault(FaultPoint::AfterCommit)
    }

    fn answer(
        &self,
        outcomes: Vec<(Box<dyn WriteRequest>, Outcome)>,
        transaction_result: Result<(), Error>,
        changed: bool,
    ) {
        let is_disk_full = outcomes.iter().any(|(_, outcome)| {
            matches!(outcome, Outcome::RolledBack(Error::Full) | Outcome::Failed(Error::Full))
        });
        if is_disk_full || matches!(transaction_result, Err(Error::Full)) {
            self.tx.shared.set_disk_full(true);
        } else if changed && transaction_result.is_ok() {
            self.tx.shared.set_disk_full(false);
        }
        for (work, outcome) in outcomes {
            work.answer(match (&transaction_result, outcome) {
                (Err(error), Outcome::Committed) => Outcome::Failed(error.clone()),
                (_, outcome) => outcome,
            });
        }
    }

    async fn control(&mut self, statement: Statement) -> Result<(), Error> {
        let result = self.tx.session.execute(statement, Vec::new()).await.map(drop);
        self.tx.session.take_error();
        result
    }
}
