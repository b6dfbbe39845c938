//! A requested image: one lookup and one run for all concurrent requests.

use std::sync::Arc;

use futures_util::future::{BoxFuture, Shared};
use tokio::sync::{OnceCell, watch};

use super::single_flight::ImageContent;
use crate::Error;

/// The result of a run for all waiting requests.
pub(super) type MakeFuture = Shared<BoxFuture<'static, Result<ImageContent, Arc<Error>>>>;

/// Shared by all requests of the image, and by the run until it ends.
pub(super) struct InFlight {
    /// Result of the lookup in the store, before any run.
    found: OnceCell<Result<Option<ImageContent>, Arc<Error>>>,
    run: watch::Sender<Option<MakeFuture>>,
}

impl InFlight {
    pub(super) fn new() -> Self {
        Self { found: OnceCell::new(), run: watch::Sender::new(None) }
    }

    /// The result of `look`, or of the lookup that another request just made.
    pub(super) async fn find_once(
        &self,
        lookup: impl Future<Output = Result<Option<ImageContent>, Error>>,
    ) -> Result<Option<ImageContent>, Error> {
        let found = self.found.get_or_init(async || lookup.await.map_err(Arc::new)).await;
        found.clone().map_err(Error::Shared)
    }

    /// Waits until a run begins.
    pub(super) async fn wait_until_started(&self) -> MakeFuture {
        let mut run = self.run.subscribe();
        let run = run.wait_for(Option::is_some).await.expect("the sender is here");
        run.clone().expect("it was waited for")
    }

    /// Starts the run, unless another request did meanwhile.
    pub(super) fn start_once(&self, begin: impl FnOnce() -> MakeFuture) -> MakeFuture {
        self.run.send_if_modified(|run| {
            let is_first = run.is_none();
            if is_first {
                *run = Some(begin());
            }
            is_first
        });
        self.run.borrow().clone().expect("it was begun above")
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::FutureExt as _;

    use super::*;

    fn run(text: &'static str) -> MakeFuture {
        std::future::ready(Ok(ImageContent::Whole(Bytes::from_static(text.as_bytes())))).boxed().shared()
    }

    async fn text(run: MakeFuture) -> String {
        match run.await {
            Ok(ImageContent::Whole(bytes)) => String::from_utf8(bytes.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn waiting_requests_share_the_first_run() {
        let flight = InFlight::new();
        let mut waiting = Box::pin(flight.wait_until_started());
        assert!((&mut waiting).now_or_never().is_none());
        assert_eq!(text(flight.start_once(|| run("first"))).await, "first");
        assert_eq!(text(flight.start_once(|| panic!("it was begun"))).await, "first");
        assert_eq!(text(waiting.await).await, "first");
        assert_eq!(text(flight.wait_until_started().await).await, "first");
    }

    #[tokio::test]
    async fn lookup_is_single_flight_and_survives_cancel() {
        let flight = InFlight::new();
        let mut first = Box::pin(flight.find_once(std::future::pending()));
        assert!((&mut first).now_or_never().is_none());
        drop(first);
        assert!(flight.find_once(async { Err(Error::Gone) }).await.is_err());
        let again = flight.find_once(async { panic!("it is known") }).await;
        assert!(again.is_err_and(|error| matches!(error.root(), Error::Gone)));
    }
}
