//! A value that tests wait on.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// A value behind a lock that tells those who wait when it has changed.
#[derive(Debug, Default)]
pub(crate) struct Watched<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T> Watched<T> {
    /// Looks at the value.
    pub(crate) fn see<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the value and wakes everyone who waits on it.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.value.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_waiters();
        result
    }

    /// Waits until `look` finds what it is looking for.
    pub(crate) async fn until<R>(&self, mut look: impl FnMut(&T) -> Option<R>) -> R {
        loop {
            // Listens before it looks, so that no change falls in between.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = self.see(&mut look) {
                return found;
            }
            changed.await;
        }
    }

    /// Waits as `until` does; `None` when the deadline passes first.
    pub(crate) async fn within<R>(&self, deadline: Duration, look: impl FnMut(&T) -> Option<R>) -> Option<R> {
        tokio::time::timeout(deadline, self.until(look)).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn no_change_is_missed() {
        let watched = Arc::new(Watched::<u32>::default());
        let counting = Arc::clone(&watched);
        let counter = tokio::spawn(async move {
            for _ in 0..10_000 {
                counting.change(|value| *value += 1);
            }
        });
        for step in (0..10_000).step_by(100) {
            watched.until(|value| (*value >= step).then_some(())).await;
        }
        assert_eq!(watched.until(|value| (*value == 10_000).then_some("all")).await, "all");
        counter.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_at_the_deadline() {
        let watched = Watched::<u32>::default();
        assert_eq!(watched.within(Duration::from_secs(3600), |value| (*value > 0).then_some(())).await, None);
    }
}
