//! Time a child had for its work, without the time it waited for us.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Runs while it is not paused. Any number of pauses may overlap.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    state: Mutex<State>,
    /// Wakes the task that waits in [`wait_expired`](Self::wait_expired).
    resumed: Notify,
}

#[derive(Debug)]
struct State {
    /// Measured before `since`.
    spent: Duration,
    /// Start of the current measurement. Meaningless while paused.
    since: Instant,
    pauses: u32,
}

impl State {
    fn spent(&self) -> Duration {
        if self.pauses == 0 { self.spent.saturating_add(self.since.elapsed()) } else { self.spent }
    }
}

/// Pauses a stopwatch. Dropping it ends this pause.
#[derive(Debug)]
pub(crate) struct PauseGuard(Arc<Stopwatch>);

impl Drop for PauseGuard {
    fn drop(&mut self) {
        self.0.resume();
    }
}

impl Stopwatch {
    pub(crate) fn start() -> Arc<Self> {
        let state = State { spent: Duration::ZERO, since: Instant::now(), pauses: 0 };
        Arc::new(Self { state: Mutex::new(state), resumed: Notify::new() })
    }

    /// Pauses it until the returned guard is dropped.
    pub(crate) fn pause_guard(self: &Arc<Self>) -> PauseGuard {
        self.pause();
        PauseGuard(Arc::clone(self))
    }

    /// Pauses it until one more [`resume`](Self::resume).
    pub(crate) fn pause(&self) {
        let mut state = self.lock();
        state.spent = state.spent();
        state.pauses += 1;
    }

    /// Ends one pause that began with [`pause`](Self::pause).
    pub(crate) fn resume(&self) {
        let mut state = self.lock();
        state.pauses -= 1;
        if state.pauses == 0 {
            state.since = Instant::now();
            self.resumed.notify_one();
        }
    }

    /// Restarts at zero.
    pub(crate) fn restart(&self) {
        let mut state = self.lock();
        state.spent = Duration::ZERO;
        state.since = Instant::now();
    }

    /// Waits until `limit` has been spent. Only one task may wait.
    pub(crate) async fn wait_expired(&self, limit: Duration) {
        loop {
            let (left, is_paused) = {
                let state = self.lock();
                (limit.saturating_sub(state.spent()), 0 < state.pauses)
            };
            match (left.is_zero(), is_paused) {
                (true, _) => return,
                // If it was paused or restarted meanwhile, more time is left afterwards.
                (false, false) => sleep(left).await,
                (false, true) => self.resumed.notified().await,
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
        tokio::time::timeout(Duration::ZERO, stopwatch.wait_expired(limit)).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn time_is_paused_until_every_hold_is_dropped() {
        let stopwatch = Stopwatch::start();
        advance(SECOND).await;
        let (first, second) = (stopwatch.pause_guard(), stopwatch.pause_guard());
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
            async move { watch.wait_expired(3 * SECOND).await }
        });
        sleep(2 * SECOND).await;
        let hold = stopwatch.pause_guard();
        sleep(10 * SECOND).await;
        assert!(!waiting.is_finished());
        drop(hold);
        waiting.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 13);
    }
}
