//! Time a child had for its work: not the time it waited for us.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Measures while nothing holds it. Any number of reasons may hold it at once.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    state: Mutex<State>,
    /// Wakes the one that waits in [`expired`](Self::expired).
    released: Notify,
}

#[derive(Debug)]
struct State {
    /// Measured before `since`.
    spent: Duration,
    /// When it last began to run. Meaningless while held.
    since: Instant,
    holds: u32,
}

impl State {
    fn spent(&self) -> Duration {
        if self.holds == 0 { self.spent.saturating_add(self.since.elapsed()) } else { self.spent }
    }
}

/// A reason for which no time passes. Dropping it lets time pass again.
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

    /// Holds it until the answer is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> Hold {
        self.stop();
        Hold(Arc::clone(self))
    }

    /// Holds it until one [`release`](Self::release) more.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.spent = state.spent();
        state.holds += 1;
    }

    /// Takes back one [`stop`](Self::stop).
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        state.holds -= 1;
        if state.holds == 0 {
            state.since = Instant::now();
            self.released.notify_one();
        }
    }

    /// Begins again at nothing.
    pub(crate) fn restart(&self) {
        let mut state = self.lock();
        state.spent = Duration::ZERO;
        state.since = Instant::now();
    }

    /// Waits until `limit` has been spent. Only one may wait.
    pub(crate) async fn expired(&self, limit: Duration) {
        loop {
            let (left, held) = {
                let state = self.lock();
                (limit.saturating_sub(state.spent()), 0 < state.holds)
            };
            match (left.is_zero(), held) {
                (true, _) => return,
                // Held or begun anew meanwhile, there is more left afterwards.
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

    async fn is_expired(watch: &Stopwatch, limit: Duration) -> bool {
        tokio::time::timeout(Duration::ZERO, watch.expired(limit)).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn time_passes_only_while_nothing_holds_it() {
        let watch = Stopwatch::start();
        advance(SECOND).await;
        let (first, second) = (watch.hold(), watch.hold());
        advance(100 * SECOND).await;
        drop(first);
        advance(100 * SECOND).await;
        assert!(!is_expired(&watch, 2 * SECOND).await);
        drop(second);
        advance(SECOND / 2).await;
        assert!(!is_expired(&watch, 2 * SECOND).await);
        advance(SECOND / 2).await;
        assert!(is_expired(&watch, 2 * SECOND).await);
    }

    #[tokio::test(start_paused = true)]
    async fn beginning_again_gives_the_whole_time_again() {
        let watch = Stopwatch::start();
        advance(9 * SECOND).await;
        watch.restart();
        advance(9 * SECOND).await;
        assert!(!is_expired(&watch, 10 * SECOND).await);
        advance(SECOND).await;
        assert!(is_expired(&watch, 10 * SECOND).await);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_sees_a_hold_that_came_and_went() {
        let watch = Stopwatch::start();
        let began = Instant::now();
        let waiting = tokio::spawn({
            let watch = Arc::clone(&watch);
            async move { watch.expired(3 * SECOND).await }
        });
        sleep(2 * SECOND).await;
        let hold = watch.hold();
        sleep(10 * SECOND).await;
        assert!(!waiting.is_finished());
        drop(hold);
        waiting.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 13);
    }
}
