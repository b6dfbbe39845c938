//! Commits operations together with their responses.

use kinora_service::{Commit, Error};
use kinora_store::{Store, Tx};
use kinora_web::envelope::Answer;
use kinora_web::error::ApiError;
use kinora_web::once::{Idempotency, Once};

use crate::error;

/// Commits an operation, and stores its response by the idempotency key of the request.
pub(crate) struct Respond<R> {
    once: Once,
    idempotency: Idempotency,
    render: R,
}

impl<R> Respond<R> {
    /// Responds to this request with what `render` makes of the outcome.
    pub(crate) fn with(once: Once, idempotency: &Idempotency, render: R) -> Self {
        Self { once, idempotency: idempotency.clone(), render }
    }
}

impl<T, R> Commit<T> for Respond<R>
where
    R: Fn(T) -> Answer + Send + 'static,
{
    type Answer = Answer;
    type Error = ApiError;

    fn reject(error: Error) -> ApiError {
        error::of_operation(error)
    }

    async fn commit<F>(self, _: &Store, mut work: F) -> Result<Answer, ApiError>
    where
        F: AsyncFnMut(&mut Tx) -> Result<T, Error> + Send + 'static,
    {
        let Self { once, idempotency, render } = self;
        let answer = async move |tx: &mut Tx| work(tx).await.map(&render).map_err(error::of_operation);
        once.write(&idempotency, answer).await
    }
}
