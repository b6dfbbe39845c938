//! Commits operations together with their responses.

use kinora_service::{Commit, Error};
use kinora_store::{Store, Tx};
use kinora_web::envelope::RenderedResponse;
use kinora_web::error::ApiError;
use kinora_web::idempotency::{Idempotency, IdempotentRequest};

use crate::error;

/// Commits an operation, and stores its response by the idempotency key of the request.
pub(crate) struct IdempotentCommit<R> {
    request: IdempotentRequest,
    idempotency: Idempotency,
    render: R,
}

impl<R> IdempotentCommit<R> {
    /// Creates the commit of this request; `render` makes the response from the outcome.
    pub(crate) fn new(request: IdempotentRequest, idempotency: &Idempotency, render: R) -> Self {
        Self { request, idempotency: idempotency.clone(), render }
    }
}

impl<T, R> Commit<T> for IdempotentCommit<R>
where
    R: Fn(T) -> RenderedResponse + Send + 'static,
{
    type Output = RenderedResponse;
    type Error = ApiError;

    fn reject(error: Error) -> ApiError {
        error::from_operation(error)
    }

    async fn commit<F>(self, _: &Store, mut work: F) -> Result<RenderedResponse, ApiError>
    where
        F: AsyncFnMut(&mut Tx) -> Result<T, Error> + Send + 'static,
    {
        let Self { request, idempotency, render } = self;
        let respond = async move |tx: &mut Tx| work(tx).await.map(&render).map_err(error::from_operation);
        request.write(&idempotency, respond).await
    }
}
