//! Detects bodies that are too slow.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout};

use crate::error::{FetchError, TimeoutPhase};
use crate::limits::Limits;

/// Aborts a slow body: at least `bytes` must arrive in every `window` of waiting.
///
/// Only the wait for the network counts. A slow sink must not make a good server fail.
#[derive(Debug)]
pub(super) struct StallWatch {
    window: Duration,
    bytes: u64,
    waited: Duration,
    received: u64,
}

impl StallWatch {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { window: limits.stall_window, bytes: limits.stall_bytes, waited: Duration::ZERO, received: 0 }
    }

    /// Awaits the next bytes, at most for the rest of the window.
    pub(super) async fn wait(
        &mut self,
        next: impl Future<Output = Result<Option<Bytes>, FetchError>>,
    ) -> Result<Option<Bytes>, FetchError> {
        let began = Instant::now();
        let time_left = self.window.saturating_sub(self.waited);
        let next =
            timeout(time_left, next).await.unwrap_or(Err(FetchError::Timeout(TimeoutPhase::Stalled)))?;
        self.waited = self.waited.saturating_add(began.elapsed());
        let length = next.as_ref().map_or(0, Bytes::len);
        self.received = self.received.saturating_add(length.try_into().unwrap_or(u64::MAX));
        if self.bytes <= self.received {
            (self.waited, self.received) = (Duration::ZERO, 0);
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receives pieces of `length` bytes, each after `wait_s` on the network, with a pause of `hold_s` after
    /// each. Returns the seconds on the network until the abort, or `None` if a thousand pieces arrived.
    async fn cut_after(length: usize, wait_s: u64, hold_s: u64) -> Option<u64> {
        let mut watch = StallWatch::new(&Limits::default());
        for piece in 0..1000 {
            let began = Instant::now();
            let next = async {
                tokio::time::sleep(Duration::from_secs(wait_s)).await;
                Ok(Some(Bytes::from(vec![0; length])))
            };
            if watch.wait(next).await.is_err() {
                return Some(piece * wait_s + began.elapsed().as_secs());
            }
            tokio::time::advance(Duration::from_secs(hold_s)).await;
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn less_than_64_kib_in_a_minute_is_cut() {
        assert_eq!(cut_after(1, 1, 0).await, Some(60)); // a drip of a byte a second
        assert_eq!(cut_after(1, 100, 0).await, Some(60)); // silence
        assert_eq!(cut_after((64 << 10) - 1, 59, 0).await, Some(60));
        assert_eq!(cut_after(1100, 1, 0).await, None); // 64 KiB after just under a minute, again and again
        assert_eq!(cut_after(1050, 1, 0).await, Some(60)); // some KiB less
        assert_eq!(cut_after(64 << 10, 59, 0).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_the_sink_does_not_count_as_stall() {
        assert_eq!(cut_after(1100, 1, 1000).await, None);
        assert_eq!(cut_after(1, 1, 1000).await, Some(60));
    }
}
