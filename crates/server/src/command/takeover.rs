//! Takes over from a server that was just killed.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// A killed server ends at once. A program that it was just starting still has its lock and its address
/// until that program runs: milliseconds, more on a busy machine.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(5);
/// Each attempt at the lock of a database is a connection.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Acquires a resource that another server has, and retries for 5 s while `is_in_use` is true for the error.
/// Returns the last error.
pub(super) async fn take_over<T, E: std::fmt::Display>(
    is_in_use: impl Fn(&E) -> bool,
    mut acquire: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T, E> {
    let begin = Instant::now();
    let mut is_warned = false;
    loop {
        match acquire().await {
            Err(error) if is_in_use(&error) && begin.elapsed() < TAKEOVER_TIMEOUT => {
                if !is_warned {
                    tracing::warn!("{error}; retrying for 5 s");
                    is_warned = true;
                }
                sleep(RETRY_INTERVAL).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Fails `failures` times with this error. Returns the result and the number of attempts.
    async fn after(failures: u32, error: &'static str) -> (Result<u32, &'static str>, u32) {
        let tried = Cell::new(0);
        let take = async || {
            tried.set(tried.get() + 1);
            if tried.get() > failures { Ok(tried.get()) } else { Err(error) }
        };
        (take_over(|error| *error == "held", take).await, tried.get())
    }

    #[tokio::test(start_paused = true)]
    async fn takeover_succeeds_once_lock_is_free() {
        assert_eq!(after(0, "held").await, (Ok(1), 1));
        assert_eq!(after(50, "held").await, (Ok(51), 51));
    }

    #[tokio::test(start_paused = true)]
    async fn takeover_times_out_after_five_seconds() {
        let begin = Instant::now();
        assert_eq!(after(u32::MAX, "held").await, (Err("held"), 51));
        assert_eq!(begin.elapsed(), TAKEOVER_TIMEOUT);
        assert_eq!(after(1, "broken").await, (Err("broken"), 1));
    }
}
