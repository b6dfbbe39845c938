//! The minimum rate of bodies.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use tokio::time::{Instant, timeout_at};

/// Minimum rate of a body: a slower connection would occupy an upload, a file and memory without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StallLimit {
    /// Minimum number of bytes per window.
    pub bytes: u64,
    /// Length of the window.
    pub within: Duration,
}

impl Default for StallLimit {
    /// The limit of a download (C-41).
    fn default() -> Self {
        Self { bytes: 64 << 10, within: Duration::from_secs(60) }
    }
}

/// Reads a body and enforces the minimum rate.
pub(crate) struct StallGuarded<B> {
    body: B,
    min: StallLimit,
    /// Start of the current window, and the bytes received in it.
    since: Instant,
    window_bytes: u64,
    received_bytes: u64,
}

/// The body is too slow.
pub(crate) struct Stalled;

impl<B: Stream<Item = Result<T, E>> + Unpin, T: AsRef<[u8]>, E> StallGuarded<B> {
    pub(crate) fn new(body: B, min: StallLimit) -> Self {
        Self { body, min, since: Instant::now(), window_bytes: 0, received_bytes: 0 }
    }

    /// The next piece; `None` at the end of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<Result<T, E>>, Stalled> {
        loop {
            let end = self.since + self.min.within;
            // A call after the end of the window means that this side waited for the disk, and the client
            // with it.
            let is_own_delay = Instant::now() >= end;
            match timeout_at(end, self.body.next()).await {
                Ok(piece) => {
                    if let Some(Ok(bytes)) = &piece {
                        self.window_bytes += bytes.as_ref().len() as u64;
                        self.received_bytes += bytes.as_ref().len() as u64;
                    }
                    let is_over = Instant::now() >= end;
                    if is_over && !is_own_delay && self.window_bytes < self.min.bytes && piece.is_some() {
                        return Err(Stalled);
                    }
                    if is_over || self.window_bytes >= self.min.bytes {
                        self.begin_window();
                    }
                    return Ok(piece);
                }
                Err(_) if self.window_bytes < self.min.bytes && !is_own_delay => return Err(Stalled),
                Err(_) => self.begin_window(),
            }
        }
    }

    /// Bytes received so far.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    fn begin_window(&mut self) {
        self.since = Instant::now();
        self.window_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use tokio::time::sleep;

    use super::*;

    const MIN: StallLimit = StallLimit { bytes: 100, within: Duration::from_secs(10) };

    /// Pieces with these lengths, each after this number of seconds.
    async fn is_fast_enough(pieces: &[(u64, usize)]) -> bool {
        let pieces = stream::iter(pieces.to_vec()).then(|(seconds, len)| async move {
            sleep(Duration::from_secs(seconds)).await;
            Ok::<_, Infallible>(vec![0_u8; len])
        });
        let mut paced = StallGuarded::new(Box::pin(pieces), MIN);
        loop {
            match paced.next().await {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(Stalled) => return false,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stalled_body_is_detected_and_slow_body_passes() {
        assert!(is_fast_enough(&[]).await);
        assert!(is_fast_enough(&[(9, 1), (0, 99), (9, 100), (9, 1)]).await);
        assert!(is_fast_enough(&[(9, 100); 20]).await);
        assert!(!is_fast_enough(&[(11, 100)]).await);
        assert!(!is_fast_enough(&[(1, 1); 20]).await);
        assert!(!is_fast_enough(&[(9, 100), (9, 99), (9, 1)]).await);
    }
}
