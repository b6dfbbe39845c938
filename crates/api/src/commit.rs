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
    map_err: Box<dyn Fn(Error) -> ApiError + Send>,
}

impl<R> IdempotentCommit<R> {
    /// Creates the commit of this request; `render` makes the response from the outcome.
    pub(crate) fn new(request: IdempotentRequest, idempotency: &Idempotency, render: R) -> Self {
        let map_err = Box::new(error::from_operation);
        Self { request, idempotency: idempotency.clone(), render, map_err }
    }

    /// Converts errors of the transaction by `map_err`, which knows the fields of the request.
    pub(crate) fn map_err(self, map_err: impl Fn(Error) -> ApiError + Send + 'static) -> Self {
        Self { map_err: Box::new(map_err), ..self }
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
        let Self { request, idempotency, render, map_err } = self;
        let respond = async move |tx: &mut Tx| work(tx).await.map(&render).map_err(&map_err);
        request.write(&idempotency, respond).await
    }
}
