//! Takes over from a server that was just killed.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// A killed server is gone at once, but a program it was just starting holds its lock and its address until
/// that program runs: milliseconds, more on a busy machine.
const FREE_WITHIN: Duration = Duration::from_secs(5);
/// Each try at the lock of a database is a connection.
const TRY_EVERY: Duration = Duration::from_millis(100);

/// Takes what another server holds, and tries again for 5 s while `is_held` says so of the error. Returns the
/// last error.
pub(super) async fn take_over<T, E: std::fmt::Display>(
    is_held: impl Fn(&E) -> bool,
    mut take: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T, E> {
    let begin = Instant::now();
    let mut is_told = false;
    loop {
        match take().await {
            Err(error) if is_held(&error) && begin.elapsed() < FREE_WITHIN => {
                if !is_told {
                    tracing::warn!("{error}; trying again for 5 s");
                    is_told = true;
                }
                sleep(TRY_EVERY).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Fails so many times with this error. Returns the result and how often it was tried.
    async fn after(failures: u32, error: &'static str) -> (Result<u32, &'static str>, u32) {
        let tried = Cell::new(0);
        let take = async || {
            tried.set(tried.get() + 1);
            if tried.get() > failures { Ok(tried.get()) } else { Err(error) }
        };
        (take_over(|error| *error == "held", take).await, tried.get())
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_held_for_a_moment_is_taken() {
        assert_eq!(after(0, "held").await, (Ok(1), 1));
        assert_eq!(after(50, "held").await, (Ok(51), 51));
    }

    #[tokio::test(start_paused = true)]
    async fn what_stays_held_is_refused_after_five_seconds_and_other_errors_at_once() {
        let begin = Instant::now();
        assert_eq!(after(u32::MAX, "held").await, (Err("held"), 51));
        assert_eq!(begin.elapsed(), FREE_WITHIN);
        assert_eq!(after(1, "broken").await, (Err("broken"), 1));
    }
}
