//! How slowly bytes may come.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use tokio::time::{Instant, timeout_at};

/// The slowest a body may come: a connection that drips would hold an upload, a file and memory for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaceMin {
    /// So many bytes at least.
    pub bytes: u64,
    /// In so much time.
    pub within: Duration,
}

impl Default for PaceMin {
    /// The limit of a fetch (C-41).
    fn default() -> Self {
        Self { bytes: 64 << 10, within: Duration::from_secs(60) }
    }
}

/// Reads a body and measures its pace.
pub(crate) struct Paced<B> {
    body: B,
    min: PaceMin,
    /// When the present window began, and what came in it.
    since: Instant,
    came: u64,
    total: u64,
}

/// The body is too slow.
pub(crate) struct TooSlow;

impl<B: Stream<Item = Result<T, E>> + Unpin, T: AsRef<[u8]>, E> Paced<B> {
    pub(crate) fn new(body: B, min: PaceMin) -> Self {
        Self { body, min, since: Instant::now(), came: 0, total: 0 }
    }

    /// The next piece; `None` at the end of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<Result<T, E>>, TooSlow> {
        loop {
            let end = self.since + self.min.within;
            // Whoever asks after the end has waited for the disk, and the client with it.
            let is_late_ourselves = Instant::now() >= end;
            match timeout_at(end, self.body.next()).await {
                Ok(piece) => {
                    if let Some(Ok(bytes)) = &piece {
                        self.came += bytes.as_ref().len() as u64;
                        self.total += bytes.as_ref().len() as u64;
                    }
                    let is_over = Instant::now() >= end;
                    if is_over && !is_late_ourselves && self.came < self.min.bytes && piece.is_some() {
                        return Err(TooSlow);
                    }
                    if is_over || self.came >= self.min.bytes {
                        self.begin_window();
                    }
                    return Ok(piece);
                }
                Err(_) if self.came < self.min.bytes && !is_late_ourselves => return Err(TooSlow),
                Err(_) => self.begin_window(),
            }
        }
    }

    /// Bytes that came so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    fn begin_window(&mut self) {
        self.since = Instant::now();
        self.came = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use tokio::time::sleep;

    use super::*;

    const MIN: PaceMin = PaceMin { bytes: 100, within: Duration::from_secs(10) };

    /// Pieces of so many bytes, each after so many seconds.
    async fn is_fast_enough(pieces: &[(u64, usize)]) -> bool {
        let pieces = stream::iter(pieces.to_vec()).then(|(seconds, len)| async move {
            sleep(Duration::from_secs(seconds)).await;
            Ok::<_, Infallible>(vec![0_u8; len])
        });
        let mut paced = Paced::new(Box::pin(pieces), MIN);
        loop {
            match paced.next().await {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(TooSlow) => return false,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_is_told_from_a_slow_one() {
        assert!(is_fast_enough(&[]).await);
        assert!(is_fast_enough(&[(9, 1), (0, 99), (9, 100), (9, 1)]).await);
        assert!(is_fast_enough(&[(9, 100); 20]).await);
        assert!(!is_fast_enough(&[(11, 100)]).await);
        assert!(!is_fast_enough(&[(1, 1); 20]).await);
        assert!(!is_fast_enough(&[(9, 100), (9, 99), (9, 1)]).await);
    }
}
