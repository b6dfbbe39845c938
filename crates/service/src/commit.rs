//! The commit of an operation that creates something.

use kinora_store::{Store, Tx};

use crate::Error;

/// Commits an operation that creates a `T`, together with what the caller adds.
///
/// HTTP stores its response by idempotency key in the same transaction. The command line adds nothing:
/// [`CommitOnly`].
pub trait Commit<T>: Send + Sized {
    /// The result for the caller.
    type Output: Send;
    /// The error for the caller.
    type Error: Send;

    /// Converts the error of an operation that was rejected before its transaction.
    fn reject(error: Error) -> Self::Error;

    /// Runs `work` in a transaction and commits it. `work` may run again, like every closure of a write.
    fn commit<F>(
        self,
        store: &Store,
        work: F,
    ) -> impl Future<Output = Result<Self::Output, Self::Error>> + Send
    where
        F: AsyncFnMut(&mut Tx) -> Result<T, Error> + Send + 'static;
}

/// Commits the operation alone.
#[derive(Debug, Clone, Copy)]
pub struct CommitOnly;

impl<T: Send + 'static> Commit<T> for CommitOnly {
    type Output = T;
    type Error = Error;

    fn reject(error: Error) -> Error {
        error
    }

    async fn commit<F>(self, store: &Store, work: F) -> Result<T, Error>
    where
        F: AsyncFnMut(&mut Tx) -> Result<T, Error> + Send + 'static,
    {
        store.write(work).await
    }
}
