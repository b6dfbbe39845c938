//! The one way to write.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tokio::sync::oneshot;

use crate::sql::postgres::Isolation;
use crate::{Error, Store, Tx};

impl Store {
    /// Runs `work` in a transaction and commits what it did, all or nothing. Returns after the commit is on
    /// the disk.
    ///
    /// The closure touches nothing but the [`Tx`] and what it owns, awaits nothing else, and may run again:
    /// when a row it saved was changed meanwhile it is run five times at most, then the answer is
    /// [`Error::Busy`]. Its own error keeps nothing of what it did, and so do [`Error::Conflict`],
    /// [`Error::LeaseLost`] and errors of the database, even if the closure lets them pass. Transactions of
    /// different callers may share one commit; none sees whether the others fail.
    ///
    /// On PostgreSQL closures run beside each other, each as if it were alone: one that stood in another's
    /// way runs again for some seconds, then the answer is [`Error::Busy`]. [`Error::Unavailable`] when the
    /// database is away; if it went away during the commit it is not known whether the transaction was kept.
    ///
    /// Once this future was polled the transaction takes place even if the future is dropped.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: AsyncFnMut(&mut Tx) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.write_in(Isolation::Serial, work).await
    }

    /// As [`Store::write`], for statements that are right by themselves whatever their neighbours do.
    pub(crate) async fn write_row_by_row<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: AsyncFnMut(&mut Tx) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.write_in(Isolation::RowByRow, work).await
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
        // The writer answers everything it takes; it drops requests only when it has been stopped.
        answer.await.unwrap_or_else(|_| Err(Error::Stopped.into()))
    }
}

/// A closure without its types, on its way to the writer.
pub(crate) trait Work: Send {
    /// Runs the closure once. Returns whether it was content.
    ///
    /// The future stays on the writer's thread, so it need not be `Send`: that is what lets closures be
    /// `async |tx|`.
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> LocalBoxFuture<'a, bool>;

    /// How much it may see of its neighbours, where several write at once.
    fn isolation(&self) -> Isolation;

    /// Answers the caller.
    fn answer(self: Box<Self>, outcome: Outcome);
}

/// What became of a closure's transaction.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// Committed; the closure's result is the answer.
    Committed,
    /// Undone because of this. A closure that refused answers with its own error, which may say more.
    Undone(Error),
    /// Undone, or never begun, for a reason that the closure does not know.
    Failed(Error),
}

struct Request<T, E, F> {
    work: F,
    isolation: Isolation,
    result: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, F> Work for Request<T, E, F>
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
            (Outcome::Committed, Some(result)) | (Outcome::Undone(_), Some(result @ Err(_))) => result,
            (Outcome::Undone(error) | Outcome::Failed(error), _) => Err(error.into()),
            (Outcome::Committed, None) => unreachable!("a closure that did not end is never committed"),
        };
        // A caller that went away wants no answer.
        let _ = self.reply.send(answer);
    }
}
