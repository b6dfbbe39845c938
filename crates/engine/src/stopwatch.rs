//! Time a child had for its work, without the time it waited for us.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Runs while no hold pauses it. Any number of holds may exist at once.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    state: Mutex<State>,
    /// Wakes the task that waits in [`expired`](Self::expired).
    released: Notify,
}

#[derive(Debug)]
struct State {
    /// Measured before `since`.
    spent: Duration,
    /// Start of the current measurement. Meaningless while paused.
    since: Instant,
    holds: u32,
}

impl State {
    fn spent(&self) -> Duration {
        if self.holds == 0 { self.spent.saturating_add(self.since.elapsed()) } else { self.spent }
    }
}

/// A hold, during which no time passes. Dropping it resumes the stopwatch.
#[derive(Debug)]
pub(crate) struct Hold(Arc<Stopwatch>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl Stopwatch {
    pub(crate) fn start() -> Arc<Self> {
        let state = State { spent: Duration::ZERO, since: Instant::now(), holds: 0 };
        Arc::new(Self { state: Mutex::new(state), released: Notify::new() })
    }

    /// Pauses it until the returned hold is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> Hold {
        self.stop();
        Hold(Arc::clone(self))
    }

    /// Pauses it until one more [`release`](Self::release).
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.spent = state.spent();
        state.holds += 1;
    }

    /// Reverts one [`stop`](Self::stop).
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        state.holds -= 1;
        if state.holds == 0 {
            state.since = Instant::now();
            self.released.notify_one();
        }
    }

    /// Restarts at zero.
    pub(crate) fn restart(&self) {
        let mut state = self.lock();
        state.spent = Duration::ZERO;
        state.since = Instant::now();
    }

    /// Waits until `limit` has been spent. Only one task may wait.
    pub(crate) async fn expired(&self, limit: Duration) {
        loop {
            let (left, is_held) = {
                let state = self.lock();
                (limit.saturating_sub(state.spent()), 0 < state.holds)
            };
            match (left.is_zero(), is_held) {
                (true, _) => return,
                // If it was paused or restarted meanwhile, more time is left afterwards.
                (false, false) => sleep(left).await,
                (false, true) => self.released.notified().await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    async fn is_expired(stopwatch: &Stopwatch, limit: Duration) -> bool {
        tokio::time::timeout(Duration::ZERO, stopwatch.expired(limit)).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn time_is_paused_until_every_hold_is_dropped() {
        let stopwatch = Stopwatch::start();
        advance(SECOND).await;
        let (first, second) = (stopwatch.hold(), stopwatch.hold());
        advance(100 * SECOND).await;
        drop(first);
        advance(100 * SECOND).await;
        assert!(!is_expired(&stopwatch, 2 * SECOND).await);
        drop(second);
        advance(SECOND / 2).await;
        assert!(!is_expired(&stopwatch, 2 * SECOND).await);
        advance(SECOND / 2).await;
        assert!(is_expired(&stopwatch, 2 * SECOND).await);
    }

    #[tokio::test(start_paused = true)]
    async fn restart_resets_the_stopwatch() {
        let stopwatch = Stopwatch::start();
        advance(9 * SECOND).await;
        stopwatch.restart();
        advance(9 * SECOND).await;
        assert!(!is_expired(&stopwatch, 10 * SECOND).await);
        advance(SECOND).await;
        assert!(is_expired(&stopwatch, 10 * SECOND).await);
    }

    #[tokio::test(start_paused = true)]
    async fn expiry_accounts_for_a_short_pause() {
        let stopwatch = Stopwatch::start();
        let began = Instant::now();
        let waiting = tokio::spawn({
            let watch = Arc::clone(&stopwatch);
            async move { watch.expired(3 * SECOND).await }
        });
        sleep(2 * SECOND).await;
        let hold = stopwatch.hold();
        sleep(10 * SECOND).await;
        assert!(!waiting.is_finished());
        drop(hold);
        waiting.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 13);
    }
}
