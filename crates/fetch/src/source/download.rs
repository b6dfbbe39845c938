//! A whole source, through cuts, restarts and busy servers.

use std::time::Duration;

use bytes::Bytes;
use kinora_domain::Random;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use super::{Fetcher, Start, StrongValidator};
use crate::error::{FetchError, Phase};

/// Takes the bytes of a source, in order.
pub trait Sink: Send {
    /// What stops a download from this side: a full disk, a source that is no media, a lost lease.
    type Error: Send;

    /// Forgets everything written so far: the source begins again and may be another one. Called before the
    /// `write` it is about, never at the very beginning.
    fn restart(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Takes the next bytes, never none.
    fn write(&mut self, bytes: Bytes) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// The attempt broke off, and nothing comes until the next one begins, perhaps minutes later. Returns
    /// where that one begins. An error ends the download: a later one may go on with [`Pause::tries`].
    fn pause(&mut self, pause: Pause) -> impl Future<Output = Result<NextAttempt, Self::Error>> + Send;

    /// The pause is over and the next attempt begins when this returns.
    fn resume(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Learns the size of the whole source once for each attempt, before its bytes; `None` if the server does
    /// not say.
    fn announce(&mut self, _total: Option<u64>) {}
}

/// What a download may still do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// Attempts that failed since one brought something: so many of
    /// [`Limits::retry_delays`](crate::Limits::retry_delays) are used up.
    pub failures: usize,
    /// What is left of [`Limits::total`](crate::Limits::total).
    pub left: Duration,
}

/// An attempt broke off, and another one follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// How long it is until then.
    pub wait: Duration,
    /// What is left then.
    pub tries: Tries,
    /// Whether it can go on behind the bytes that the sink has. Otherwise they are of no use.
    pub is_resumable: bool,
}

/// Where the next attempt begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAttempt {
    /// Behind the bytes of the sink, if [`Pause::is_resumable`].
    Continue,
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
    /// The outside: final, or the last of all attempts.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The sink said so. Nothing was tried again.
    #[error("the sink ended the download")]
    Sink(E),
}

/// What is in the sink.
#[derive(Default)]
struct Held {
    bytes: u64,
    content_type: Option<String>,
    validator: Option<StrongValidator>,
}

impl Fetcher {
    /// Reads all of `url` into `sink`.
    ///
    /// After a cut it goes on where it was, provided the server proves by the strong validator that the
    /// source is the same; otherwise the sink restarts. `Limits::retry_delays` says how often and when it
    /// tries (± 20 % by `random`, or later if the server asks for it). An attempt that brought what is held
    /// forward by at least `Limits::stall_bytes`, and can be resumed, begins a new series of attempts: a long
    /// download over a bad line may be cut often. All of it ends with `Limits::total`.
    ///
    /// Dropping the future stops the download; it may be run again from the beginning with a fresh sink.
    /// `tries` is what an earlier run left, or [`Fetcher::all_tries`].
    pub async fn download<S: Sink>(
        &self,
        url: &Url,
        sink: &mut S,
        random: &dyn Random,
        tries: Tries,
    ) -> Result<Downloaded, DownloadError<S::Error>> {
        let deadline = Instant::now() + tries.left;
        let mut held = Held::default();
        let mut failures = tries.failures;
        let mut furthest = 0;
        loop {
            let error = match self.attempt(url, sink, &mut held, deadline).await {
                Ok(()) => {
                    let Held { bytes, content_type, validator } = held;
                    return Ok(Downloaded { bytes, content_type, validator });
                }
                Err(DownloadError::Fetch(error)) if !error.is_final() => error,
                Err(error) => return Err(error),
            };
            if held.validator.is_some() && furthest + self.limits.stall_bytes <= held.bytes {
                failures = 0;
            }
            furthest = furthest.max(held.bytes);
            if matches!(error, FetchError::Changed) {
                held.validator = None; // the next attempt reads from the beginning
            }

            let Some(delay) = self.limits.retry_delays.get(failures) else { return Err(error.into()) };
            failures += 1;
            let asked = error.retry_after().unwrap_or_default().min(self.limits.retry_after_max);
            let wait = jittered(*delay, random).max(asked);
            let left = deadline.saturating_duration_since(Instant::now()).saturating_sub(wait);
            let is_resumable = held.bytes > 0 && held.validator.is_some();
            let pause = Pause { wait, tries: Tries { failures, left }, is_resumable };
            if sink.pause(pause).await.map_err(DownloadError::Sink)? == NextAttempt::FromStart {
                held = Held::default(); // `furthest` stays: bytes that come again are no progress
            }
            let waiting = async {
                sleep(wait).await;
                Ok(())
            };
            within(deadline, waiting).await?;
            sink.resume().await.map_err(DownloadError::Sink)?;
        }
    }

    /// What a download may do that begins.
    pub fn all_tries(&self) -> Tries {
        Tries { failures: 0, left: self.limits.total }
    }

    /// Asks once and writes what comes. `held` is right also after an error.
    async fn attempt<S: Sink>(
        &self,
        url: &Url,
        sink: &mut S,
        held: &mut Held,
        deadline: Instant,
    ) -> Result<(), DownloadError<S::Error>> {
        let opening = self.open(url, held.bytes, held.validator.as_ref());
        let mut response = within(deadline, opening).await?;
        if response.start == Start::Beginning {
            if 0 < held.bytes {
                sink.restart().await.map_err(DownloadError::Sink)?;
            }
            let (content_type, validator) = (response.content_type.take(), response.validator.take());
            *held = Held { bytes: 0, content_type, validator };
        }
        sink.announce(response.total);
        while let Some(bytes) = within(deadline, response.chunk()).await? {
            if bytes.is_empty() {
                continue;
            }
            let length = u64::try_from(bytes.len()).expect("a length in memory fits in 64 bits");
            sink.write(bytes).await.map_err(DownloadError::Sink)?;
            held.bytes += length;
        }
        Ok(())
    }
}

/// Awaits work on the network until the whole download's time is over. The sink is never interrupted.
async fn within<T>(
    deadline: Instant,
    work: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    timeout_at(deadline, work).await.unwrap_or(Err(FetchError::Timeout(Phase::Total)))
}

/// 80 to 120 % of `delay`, so that the downloads a broken server has cut do not come back all at once.
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
    fn a_delay_is_moved_by_at_most_a_fifth() {
        for (byte, expected) in [(0, 80), (127, 99), (255, 120)] {
            assert_eq!(jittered(Duration::from_secs(100), &Always(byte)), Duration::from_secs(expected));
        }
    }
}
