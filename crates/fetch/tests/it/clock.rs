//! Control of tokio's clock in tests. A machine under load must not change a result, so no limit is short on
//! the real clock.

use std::time::Duration;

use tokio::task::{JoinHandle, yield_now};

/// Longer than any passing test on the real clock.
pub(crate) const HOUR: Duration = Duration::from_secs(60 * 60);

/// Awaits `work` on a clock that jumps from timer to timer. The result must not depend on bytes in flight:
/// the clock does not wait for them.
pub(crate) async fn jumping<T>(work: impl Future<Output = T>) -> T {
    tokio::time::pause();
    let result = work.await;
    tokio::time::resume();
    result
}

/// Awaits `work`, on the real clock until `trigger` has happened, then on one that jumps.
pub(crate) async fn jumping_after<T>(trigger: impl Future<Output = ()>, work: impl Future<Output = T>) -> T {
    let mut work = Box::pin(work);
    tokio::select! {
        biased;
        _ = &mut work => panic!("it ended before the clock moved"),
        () = trigger => {}
    }
    jumping(work).await
}

/// A clock that moves only by [`advance`](Self::advance), until it is dropped. A busy task keeps tokio from
/// jumping while bytes are in flight.
pub(crate) struct StillClock(JoinHandle<()>);

impl StillClock {
    pub(crate) fn stop() -> Self {
        tokio::time::pause();
        Self(tokio::spawn(async {
            loop {
                yield_now().await;
            }
        }))
    }

    /// Fires all timers up to `duration` from now.
    pub(crate) async fn advance(&self, duration: Duration) {
        // Timers count whole milliseconds.
        tokio::time::advance(duration + Duration::from_millis(1)).await;
    }
}

impl Drop for StillClock {
    fn drop(&mut self) {
        self.0.abort();
        tokio::time::resume();
    }
}
