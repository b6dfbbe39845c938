//! Going on while the database or the object store is away for a while.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::JobError;

/// How long the last step of a job is tried: a restart or a change-over of a database takes a minute, and what was downloaded
/// may have taken hours. The lease is renewed meanwhile, as soon as that is possible again; when somebody else has the job by
/// then, the step says so and ends.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// Tries a step until it works, fails for another reason than that something does not answer, or `patience` is over.
///
/// The step must be one that may run twice: when the answer to a commit is lost it may have been kept.
pub(crate) async fn keep_trying<T, Step>(
    patience: Duration,
    mut step: impl FnMut() -> Step,
) -> Result<T, JobError>
where
    Step: Future<Output = Result<T, JobError>>,
{
    let started = Instant::now();
    loop {
        match step().await {
            Err(JobError::Away(error)) if started.elapsed() < patience => {
                tracing::warn!(error = %error, "a job waits for what does not answer");
                sleep(PAUSE).await;
            }
            ended => return ended,
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

    #[tokio::test(start_paused = true)]
    async fn a_step_is_tried_until_what_it_needs_is_back() {
        let tries = Cell::new(0);
        let step = || {
            tries.set(tries.get() + 1);
            let done = if tries.get() < 100 { Err(away()) } else { Ok(tries.get()) };
            async move { done }
        };
        assert_eq!(keep_trying(PATIENCE, step).await.unwrap(), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_when_the_time_is_over_and_at_once_for_another_reason() {
        let begin = Instant::now();
        let ended = keep_trying(PATIENCE, || async { Err::<(), _>(away()) }).await;
        assert!(matches!(ended, Err(JobError::Away(_))));
        assert!(begin.elapsed() >= PATIENCE && begin.elapsed() < 2 * PATIENCE);

        let begin = Instant::now();
        let ended = keep_trying(PATIENCE, || async { Err::<(), _>(JobError::LeaseLost) }).await;
        assert!(matches!(ended, Err(JobError::LeaseLost)));
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }
}
