//! A picture that somebody asks for now: looked for once and made once, however many ask.

use std::sync::Arc;

use futures_util::future::{BoxFuture, Shared};
use tokio::sync::{OnceCell, watch};

use super::made::Ready;
use crate::Error;

/// What a run gives to all who wait for it.
pub(super) type Run = Shared<BoxFuture<'static, Result<Ready, Arc<Error>>>>;

/// Held by all who ask, and by the run until it ends.
pub(super) struct Sought {
    /// What was found in the store, before anything was made.
    found: OnceCell<Result<Option<Ready>, Arc<Error>>>,
    run: watch::Sender<Option<Run>>,
}

impl Sought {
    pub(super) fn new() -> Self {
        Self { found: OnceCell::new(), run: watch::Sender::new(None) }
    }

    /// What `look` finds, or what somebody else's found just now.
    pub(super) async fn look(
        &self,
        look: impl Future<Output = Result<Option<Ready>, Error>>,
    ) -> Result<Option<Ready>, Error> {
        let found = self.found.get_or_init(async || look.await.map_err(Arc::new)).await;
        found.clone().map_err(Error::Shared)
    }

    /// Waits until somebody begins to make it.
    pub(super) async fn begun(&self) -> Run {
        let mut run = self.run.subscribe();
        let run = run.wait_for(Option::is_some).await.expect("the sender is here");
        run.clone().expect("it was waited for")
    }

    /// Begins to make it, unless somebody did meanwhile.
    pub(super) fn begin(&self, begin: impl FnOnce() -> Run) -> Run {
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

    fn run(text: &'static str) -> Run {
        std::future::ready(Ok(Ready::Whole(Bytes::from_static(text.as_bytes())))).boxed().shared()
    }

    async fn text(run: Run) -> String {
        match run.await {
            Ok(Ready::Whole(bytes)) => String::from_utf8(bytes.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn the_first_run_is_that_of_all_who_wait() {
        let sought = Sought::new();
        let mut waiting = Box::pin(sought.begun());
        assert!((&mut waiting).now_or_never().is_none());
        assert_eq!(text(sought.begin(|| run("first"))).await, "first");
        assert_eq!(text(sought.begin(|| panic!("it was begun"))).await, "first");
        assert_eq!(text(waiting.await).await, "first");
        assert_eq!(text(sought.begun().await).await, "first");
    }

    #[tokio::test]
    async fn the_store_is_asked_once_and_by_another_one_where_the_first_leaves() {
        let sought = Sought::new();
        let mut first = Box::pin(sought.look(std::future::pending()));
        assert!((&mut first).now_or_never().is_none());
        drop(first);
        assert!(sought.look(async { Err(Error::Gone) }).await.is_err());
        let again = sought.look(async { panic!("it is known") }).await;
        assert!(again.is_err_and(|error| matches!(error.root(), Error::Gone)));
    }
}
