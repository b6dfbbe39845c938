//! The write path of the store.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tokio::sync::oneshot;

use crate::sql::postgres::Isolation;
use crate::{Error, Store, Tx};

impl Store {
    /// Runs `work` in a transaction and commits it, all or nothing. Returns after the commit is on the
    /// disk.
    ///
    /// The closure uses nothing but the [`Tx`] and its own values, awaits nothing else, and may run again.
    /// When a row that it saved was changed meanwhile, it runs five times at most; then the result is
    /// [`Error::Busy`]. Its own error rolls back its work, and so do [`Error::Conflict`],
    /// [`Error::LeaseLost`] and errors of the database, even if the closure ignores them. Transactions of
    /// different callers may share one commit; none sees whether the others fail.
    ///
    /// On PostgreSQL closures run concurrently, each as if it were alone. A closure that conflicts with
    /// another one is retried for some seconds; then the result is [`Error::Busy`]. [`Error::Unavailable`]
    /// when the database is unreachable; if the connection broke during the commit, the transaction may be
    /// committed.
    ///
    /// Once this future was polled, the transaction runs even if the future is dropped.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: AsyncFnMut(&mut Tx) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.write_in(Isolation::Serializable, work).await
    }

    /// As [`Store::write`], for statements that are correct alone, independent of concurrent transactions.
    pub(crate) async fn write_read_committed<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: AsyncFnMut(&mut Tx) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.write_in(Isolation::ReadCommitted, work).await
    }

    async fn write_in<T, E, F>(&self, isolation: Isolation, work: F) -> Result<T, E>
    where
        F: AsyncFnMut(&mut Tx) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.check_running()?;
        let (reply, answer) = oneshot::channel();
        let request = Request { work, isolation, result: None, reply };
        self.send(Box::new(request)).await?;
        // The writer responds to every request; it drops requests only when it was stopped.
        answer.await.unwrap_or_else(|_| Err(Error::Stopped.into()))
    }
}

/// A closure without its types, for the queue of the writer.
pub(crate) trait WriteRequest: Send {
    /// Runs the closure once. Returns whether it succeeded.
    ///
    /// The future stays on the writer's thread, so it need not be `Send`: that allows closures of the form
    /// `async |tx|`.
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> LocalBoxFuture<'a, bool>;

    /// The isolation from concurrent transactions.
    fn isolation(&self) -> Isolation;

    /// Sends the outcome to the caller.
    fn answer(self: Box<Self>, outcome: Outcome);
}

/// The outcome of a closure's transaction.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// Committed; the caller gets the result of the closure.
    Committed,
    /// Rolled back for this error. A closure that failed returns its own error, which may say more.
    RolledBack(Error),
    /// Rolled back, or never begun, for a reason outside the closure.
    Failed(Error),
}

struct Request<T, E, F> {
    work: F,
    isolation: Isolation,
    result: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, F> WriteRequest for Request<T, E, F>
where
    F: AsyncFnMut(&mut Tx) -> Result<T, E> + Send,
    T: Send,
    E: From<Error> + Send,
{
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> LocalBoxFuture<'a, bool> {
        self.result = None;
        async move {
            let result = (self.work)(tx).await;
            let is_ok = result.is_ok();
            self.result = Some(result);
            is_ok
        }
        .boxed_local()
    }

    fn isolation(&self) -> Isolation {
        self.isolation
    }

    fn answer(self: Box<Self>, outcome: Outcome) {
        let answer = match (outcome, self.result) {
            (Outcome::Committed, Some(result)) | (Outcome::RolledBack(_), Some(result @ Err(_))) => result,
            (Outcome::RolledBack(error) | Outcome::Failed(error), _) => Err(error.into()),
            (Outcome::Committed, None) => unreachable!("a closure that did not end is never committed"),
        };
        // The caller may be gone.
        let _ = self.reply.send(answer);
    }
}
