//! Going on while the database or the object store is away for a while.

use std::time::Duration;

use kinora_domain::{JobId, WebhookId};
use tokio::time::{Instant, sleep};

use crate::error::JobError;

/// How long the last step of a job is tried: a restart or a change-over of a database takes a minute, and
/// what was downloaded may have taken hours. The lease is renewed meanwhile, as soon as that is possible
/// again; when somebody else has the job by then, the step says so and ends.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// Who waits, for the log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Waiter {
    /// A job.
    Job(JobId),
    /// The deliveries of a webhook.
    Webhook(WebhookId),
}

impl Waiter {
    fn note_waits(self, error: &dyn std::error::Error) {
        match self {
            Self::Job(id) => {
                tracing::warn!(job.id = %id, error = %error, "a job waits for what does not answer")
            }
            Self::Webhook(id) => {
                tracing::warn!(webhook.id = %id, error = %error, "a delivery waits for what does not answer");
            }
        }
    }

    fn note_ended(self, waited: Duration, is_back: bool) {
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        match self {
            Self::Job(id) => tracing::info!(job.id = %id, waited_ms, answered = is_back, "a job has waited"),
            Self::Webhook(id) => {
                tracing::info!(webhook.id = %id, waited_ms, answered = is_back, "a delivery has waited");
            }
        }
    }
}

/// Tries a step until it works, fails for another reason than that something does not answer, or `patience`
/// is over.
///
/// The step must be one that may run twice: when the answer to a commit is lost it may have been kept. The
/// log gets the first try that failed and the end of the waiting, not each try in between.
pub(crate) async fn keep_trying<T, Step>(
    waiter: Waiter,
    patience: Duration,
    mut step: impl FnMut() -> Step,
) -> Result<T, JobError>
where
    Step: Future<Output = Result<T, JobError>>,
{
    let started = Instant::now();
    let mut waits = false;
    loop {
        match step().await {
            Err(JobError::Away(error)) if started.elapsed() < patience => {
                if !waits {
                    waiter.note_waits(&*error);
                    waits = true;
                }
                sleep(PAUSE).await;
            }
            ended => {
                if waits {
                    waiter.note_ended(started.elapsed(), !matches!(ended, Err(JobError::Away(_))));
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

    fn away() -> JobError {
        JobError::Away("the database does not answer".into())
    }

    fn waiter() -> Waiter {
        Waiter::Job("019a492c-41f3-7001-8203-040506070809".parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_is_tried_until_what_it_needs_is_back() {
        let tries = Cell::new(0);
        let step = || {
            tries.set(tries.get() + 1);
            let done = if tries.get() < 100 { Err(away()) } else { Ok(tries.get()) };
            async move { done }
        };
        assert_eq!(keep_trying(waiter(), PATIENCE, step).await.unwrap(), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_when_the_time_is_over_and_at_once_for_another_reason() {
        let begin = Instant::now();
        let ended = keep_trying(waiter(), PATIENCE, || async { Err::<(), _>(away()) }).await;
        assert!(matches!(ended, Err(JobError::Away(_))));
        assert!(begin.elapsed() >= PATIENCE && begin.elapsed() < 2 * PATIENCE);

        let begin = Instant::now();
        let ended = keep_trying(waiter(), PATIENCE, || async { Err::<(), _>(JobError::LeaseLost) }).await;
        assert!(matches!(ended, Err(JobError::LeaseLost)));
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }
}
