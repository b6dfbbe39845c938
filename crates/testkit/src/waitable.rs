//! A value on which tests can wait.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// A value in a lock that notifies its waiters of each change.
#[derive(Debug, Default)]
pub(crate) struct Waitable<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T> Waitable<T> {
    /// Reads the value.
    pub(crate) fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the value and wakes all waiters.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.value.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_waiters();
        result
    }

    /// Waits until `look` returns a result.
    pub(crate) async fn wait_until<R>(&self, mut condition: impl FnMut(&T) -> Option<R>) -> R {
        loop {
            // Registers before it reads, so that no change is missed.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = self.read(&mut condition) {
                return found;
            }
            changed.await;
        }
    }

    /// Waits as `until` does; `None` when the deadline passes first.
    pub(crate) async fn wait_timeout<R>(
        &self,
        deadline: Duration,
        condition: impl FnMut(&T) -> Option<R>,
    ) -> Option<R> {
        tokio::time::timeout(deadline, self.wait_until(condition)).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn no_change_is_missed() {
        let watched = Arc::new(Waitable::<u32>::default());
        let counting = Arc::clone(&watched);
        let counter = tokio::spawn(async move {
            for _ in 0..10_000 {
                counting.change(|value| *value += 1);
            }
        });
        for step in (0..10_000).step_by(100) {
            watched.wait_until(|value| (*value >= step).then_some(())).await;
        }
        assert_eq!(watched.wait_until(|value| (*value == 10_000).then_some("all")).await, "all");
        counter.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_at_the_deadline() {
        let watched = Waitable::<u32>::default();
        assert_eq!(
            watched.wait_timeout(Duration::from_secs(3600), |value| (*value > 0).then_some(())).await,
            None
        );
    }
}
