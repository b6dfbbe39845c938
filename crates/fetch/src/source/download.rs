//! Downloads a whole source, with retries after interruptions, restarts and busy servers.

use std::time::Duration;

use bytes::Bytes;
use kinora_domain::Random;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use super::{BodyStart, Fetcher, StrongValidator};
use crate::error::{FetchError, TimeoutPhase};

/// Receives the bytes of a source, in order.
pub trait Sink: Send {
    /// A reason of the sink to stop a download: a full disk, a source that is not media, a lost lease.
    type Error: Send;

    /// Discards all bytes so far: the source restarts and may be another one. Called before the first
    /// `write` of the restart, never at the very beginning.
    fn restart(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Receives the next bytes; never empty.
    fn write(&mut self, bytes: Bytes) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Called when an attempt was interrupted: no bytes arrive until the next one begins, perhaps minutes
    /// later. Returns where that one begins. An error ends the download: a later one may continue with
    /// [`Pause::retry_budget`].
    fn pause(&mut self, pause: Pause) -> impl Future<Output = Result<NextAttempt, Self::Error>> + Send;

    /// Called at the end of the pause; the next attempt begins when this returns.
    fn resume(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Receives the size of the whole source once for each attempt, before its bytes; `None` if the server
    /// does not announce it.
    fn announce(&mut self, _total: Option<u64>) {}
}

/// The used attempts and the remaining time of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryBudget {
    /// Failed attempts since the last progress: this number of
    /// [`Limits::retry_delays`](crate::Limits::retry_delays) is used up.
    pub failed_attempts: usize,
    /// The rest of [`Limits::total_timeout`](crate::Limits::total_timeout).
    pub time_left: Duration,
}

/// An interrupted attempt before the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Delay until the next attempt.
    pub wait: Duration,
    /// The used attempts, and the time that remains after the delay.
    pub retry_budget: RetryBudget,
    /// Whether the next attempt can continue after the bytes of the sink. Otherwise they are useless.
    pub is_resumable: bool,
}

/// The start of the next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAttempt {
    /// After the bytes of the sink, if [`Pause::is_resumable`].
    Resume,
    /// At the first byte: the sink has dropped all bytes. [`Sink::restart`] is not called for that.
    FromStart,
}

/// A source that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    /// Bytes since the last [`Sink::restart`].
    pub bytes: u64,
    /// `Content-Type`, as sent.
    pub content_type: Option<String>,
    /// The strong validator, if there was one.
    pub validator: Option<StrongValidator>,
}

/// Why a download ended early.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError<E> {
    /// A fetch error: final, or the last of all attempts.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// An error of the sink. It is not retried.
    #[error("the sink ended the download")]
    Sink(E),
}

/// The content of the sink.
#[derive(Default)]
struct Received {
    bytes: u64,
    content_type: Option<String>,
    validator: Option<StrongValidator>,
}

impl Fetcher {
    /// Reads all of `url` into `sink`.
    ///
    /// After an interruption it resumes at the same offset, if the strong validator proves that the source
    /// is the same; otherwise the sink restarts. `Limits::retry_delays` sets the number and times of
    /// attempts (± 20 % by `random`, or later if the server requests it).
    ///
    /// An attempt that adds at least `Limits::stall_bytes` to the sink, and is resumable, starts a new series
    /// of attempts: a long download over a bad connection may be interrupted often. `Limits::total_timeout`
    /// bounds the sum.
    ///
    /// Dropping the future stops the download; it may run again from the beginning with a fresh sink.
    /// `budget` is the rest of an earlier run, or [`Fetcher::full_retry_budget`].
    pub async fn download<S: Sink>(
        &self,
        url: &Url,
        sink: &mut S,
        random: &dyn Random,
        budget: RetryBudget,
    ) -> Result<Downloaded, DownloadError<S::Error>> {
        let deadline = Instant::now() + budget.time_left;
        let mut received = Received::default();
        let mut failed_attempts = budget.failed_attempts;
        let mut furthest = 0;
        loop {
            let error = match self.attempt(url, sink, &mut received, deadline).await {
                Ok(()) => {
                    let Received { bytes, content_type, validator } = received;
                    return Ok(Downloaded { bytes, content_type, validator });
                }
                Err(DownloadError::Fetch(error)) if !error.is_final() => error,
                Err(error) => return Err(error),
            };
            if received.validator.is_some() && furthest + self.limits.stall_bytes <= received.bytes {
                failed_attempts = 0;
            }
            furthest = furthest.max(received.bytes);
            if matches!(error, FetchError::Changed) {
                received.validator = None; // the next attempt reads from the beginning
            }

            let Some(delay) = self.limits.retry_delays.get(failed_attempts) else { return Err(error.into()) };
            failed_attempts += 1;
            let retry_after = error.retry_after().unwrap_or_default().min(self.limits.retry_after_max);
            let wait = jittered(*delay, random).max(retry_after);
            let time_left = deadline.saturating_duration_since(Instant::now()).saturating_sub(wait);
            let is_resumable = received.bytes > 0 && received.validator.is_some();
            let pause =
                Pause { wait, retry_budget: RetryBudget { failed_attempts, time_left }, is_resumable };
            if sink.pause(pause).await.map_err(DownloadError::Sink)? == NextAttempt::FromStart {
                received = Received::default(); // `furthest` stays: bytes that come again are no progress
            }
            let waiting = async {
                sleep(wait).await;
                Ok(())
            };
            before_deadline(deadline, waiting).await?;
            sink.resume().await.map_err(DownloadError::Sink)?;
        }
    }

    /// No used attempts, and the time of a new download.
    pub fn full_retry_budget(&self) -> RetryBudget {
        RetryBudget { failed_attempts: 0, time_left: self.limits.total_timeout }
    }

    /// Sends one request and writes the received bytes. `received` is correct even after an error.
    async fn attempt<S: Sink>(
        &self,
        url: &Url,
        sink: &mut S,
        received: &mut Received,
        deadline: Instant,
    ) -> Result<(), DownloadError<S::Error>> {
        let opening = self.open(url, received.bytes, received.validator.as_ref());
        let mut response = before_deadline(deadline, opening).await?;
        if response.start == BodyStart::Beginning {
            if 0 < received.bytes {
                sink.restart().await.map_err(DownloadError::Sink)?;
            }
            let (content_type, validator) = (response.content_type.take(), response.validator.take());
            *received = Received { bytes: 0, content_type, validator };
        }
        sink.announce(response.total);
        while let Some(bytes) = before_deadline(deadline, response.chunk()).await? {
            if bytes.is_empty() {
                continue;
            }
            let length = u64::try_from(bytes.len()).expect("a length in memory fits in 64 bits");
            sink.write(bytes).await.map_err(DownloadError::Sink)?;
            received.bytes += length;
        }
        Ok(())
    }
}

/// Awaits network work until the timeout of the whole download. The sink is never interrupted.
async fn before_deadline<T>(
    deadline: Instant,
    work: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    timeout_at(deadline, work).await.unwrap_or(Err(FetchError::Timeout(TimeoutPhase::Total)))
}

/// 80 to 120 % of `delay`, so that downloads interrupted by one server do not all retry at once.
fn jittered(delay: Duration, random: &dyn Random) -> Duration {
    let mut byte = [0];
    random.fill(&mut byte);
    let percent = 80 + u32::from(byte[0]) * 40 / 255;
    delay * percent / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Always(u8);

    impl Random for Always {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn retry_delay_jitter_is_at_most_20_percent() {
        for (byte, expected) in [(0, 80), (127, 99), (255, 120)] {
            assert_eq!(jittered(Duration::from_secs(100), &Always(byte)), Duration::from_secs(expected));
        }
    }
}
