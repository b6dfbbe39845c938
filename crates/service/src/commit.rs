//! How the transaction of an operation that creates something ends.

use kinora_store::{Store, Tx};

use crate::Error;

/// Commits an operation that creates a `T`, together with what the caller adds.
///
/// HTTP stores its response by idempotency key in the same transaction. The command line adds nothing:
/// [`Plain`].
pub trait Commit<T>: Send + Sized {
    /// What the caller gets.
    type Answer: Send;
    /// An error of the operation, as the caller sees it.
    type Error: Send;

    /// Converts the error of an operation that was rejected before its transaction.
    fn reject(error: Error) -> Self::Error;

    /// Runs `work` in a transaction and commits it. It may run again, as every closure of a write.
    fn commit<F>(
        self,
        store: &Store,
        work: F,
    ) -> impl Future<Output = Result<Self::Answer, Self::Error>> + Send
    where
        F: AsyncFnMut(&mut Tx) -> Result<T, Error> + Send + 'static;
}

/// Commits the operation alone.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

impl<T: Send + 'static> Commit<T> for Plain {
    type Answer = T;
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
