//! Retries of a step while the database or the object store is unavailable.

use std::time::Duration;

use kinora_domain::{JobId, WebhookId};
use tokio::time::{Instant, sleep};

use crate::error::JobError;

/// Timeout for the last step of a job. A restart or failover of a database takes a minute, and the download
/// before may have taken hours. The lease is renewed as soon as that is possible again. If another worker
/// has the job by then, the step fails with that error.
pub(crate) const OUTAGE_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Delay between two tries.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The waiting job or webhook, for the log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RetrySubject {
    /// A job.
    Job(JobId),
    /// The deliveries of a webhook.
    Webhook(WebhookId),
}

impl RetrySubject {
    fn log_retry(self, error: &dyn std::error::Error) {
        match self {
            Self::Job(id) => {
                tracing::warn!(job.id = %id, error = %error, "a job waits: a component does not respond")
            }
            Self::Webhook(id) => {
                tracing::warn!(webhook.id = %id, error = %error, "a delivery waits: a component does not respond");
            }
        }
    }

    fn log_end(self, waited: Duration, is_back: bool) {
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        match self {
            Self::Job(id) => {
                tracing::info!(job.id = %id, waited_ms, answered = is_back, "a job continues after waiting")
            }
            Self::Webhook(id) => {
                tracing::info!(webhook.id = %id, waited_ms, answered = is_back, "a delivery continues after waiting");
            }
        }
    }
}

/// Retries a step until it succeeds, fails for another reason than an unavailable service, or `timeout` has
/// passed.
///
/// The step must be idempotent: a commit whose response is lost may have succeeded. Logs the first failed
/// try and the end of the outage, not each try in between.
pub(crate) async fn retry_during_outage<T, Step>(
    subject: RetrySubject,
    timeout: Duration,
    mut step: impl FnMut() -> Step,
) -> Result<T, JobError>
where
    Step: Future<Output = Result<T, JobError>>,
{
    let started = Instant::now();
    let mut has_waited = false;
    loop {
        match step().await {
            Err(JobError::Unavailable(error)) if started.elapsed() < timeout => {
                if !has_waited {
                    subject.log_retry(&*error);
                    has_waited = true;
                }
                sleep(RETRY_DELAY).await;
            }
            ended => {
                if has_waited {
                    subject.log_end(started.elapsed(), !matches!(ended, Err(JobError::Unavailable(_))));
                }
                return ended;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn unavailable() -> JobError {
        JobError::Unavailable("the database does not respond".into())
    }

    fn subject() -> RetrySubject {
        RetrySubject::Job("019a492c-41f3-7001-8203-040506070809".parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn outage_retry_succeeds_when_store_is_back() {
        let tries = Cell::new(0);
        let step = || {
            tries.set(tries.get() + 1);
            let done = if tries.get() < 100 { Err(unavailable()) } else { Ok(tries.get()) };
            async move { done }
        };
        assert_eq!(retry_during_outage(subject(), OUTAGE_TIMEOUT, step).await.unwrap(), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn outage_retry_ends_at_timeout_or_other_error() {
        let begin = Instant::now();
        let ended =
            retry_during_outage(subject(), OUTAGE_TIMEOUT, || async { Err::<(), _>(unavailable()) }).await;
        assert!(matches!(ended, Err(JobError::Unavailable(_))));
        assert!(begin.elapsed() >= OUTAGE_TIMEOUT && begin.elapsed() < 2 * OUTAGE_TIMEOUT);

        let begin = Instant::now();
        let ended =
            retry_during_outage(subject(), OUTAGE_TIMEOUT, || async { Err::<(), _>(JobError::LeaseLost) })
                .await;
        assert!(matches!(ended, Err(JobError::LeaseLost)));
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }
}
