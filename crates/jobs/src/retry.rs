//! Retry policy: what happens to a job after a run that ended with an error.
//!
//! A pure function of the job, the error and the time; `runner.rs` applies it.

use kinora_domain::Timestamp;
use kinora_store::{ClaimedJob, DownloadProgress, JobKind};

use crate::error::JobError;
use crate::reschedule;

/// A job fails for good with this attempt. The delays between its attempts add up to 47 minutes.
const ATTEMPTS_MAX: u32 = 12;
/// Delay of the first retry; each further one is twice as long, up to [`RETRY_MAX_US`].
const RETRY_FIRST_US: i64 = 2 * Timestamp::SECOND;
const RETRY_MAX_US: i64 = 15 * 60 * Timestamp::SECOND;
/// Delay of a job that found the disk full.
const DISK_FULL_DELAY_US: i64 = 10 * Timestamp::SECOND;
/// Shortest and longest delay of a job whose database, object store or engine is unavailable.
const OUTAGE_DELAY_MIN_US: i64 = 2 * Timestamp::SECOND;
const OUTAGE_DELAY_MAX_US: i64 = 5 * 60 * Timestamp::SECOND;
/// Divisor of the age between these limits: the longer an outage lasts, the less often the job retries.
const OUTAGE_DELAY_PER_AGE: i64 = 4;

/// The next state of a job after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobOutcome {
    /// Another worker has the job: this one writes nothing.
    LeaseLost,
    /// The job runs again at `run_at`; this run counts no attempt.
    Defer { run_at: Timestamp },
    /// A download continues at `run_at`; this run counts no attempt, because the download counts its own.
    Continue { run_at: Timestamp, progress: DownloadProgress },
    /// The job runs again at `run_at`; this run counts as an attempt.
    Retry { run_at: Timestamp },
    /// The job has used up its attempts and fails for good.
    Fail,
}

/// The next state of a job whose run ended with `error`.
pub(crate) fn after_error(job: &ClaimedJob, error: &JobError, now: Timestamp) -> JobOutcome {
    match error {
        JobError::LeaseLost => JobOutcome::LeaseLost,
        JobError::DiskFull => JobOutcome::Defer { run_at: now.plus_micros(DISK_FULL_DELAY_US) },
        JobError::SourceRetry(pause) => JobOutcome::Continue {
            run_at: reschedule::run_at(pause, now),
            progress: reschedule::progress(pause),
        },
        JobError::Unavailable(_) => {
            JobOutcome::Defer { run_at: now.plus_micros(outage_delay_us(now.micros_since(job.created_at))) }
        }
        JobError::Fatal(_) | JobError::Retry(_) if job.attempt >= ATTEMPTS_MAX && can_fail(&job.kind) => {
            JobOutcome::Fail
        }
        JobError::Fatal(_) | JobError::Retry(_) => {
            JobOutcome::Retry { run_at: now.plus_micros(retry_delay_us(job.attempt)) }
        }
    }
}

/// Delay after attempt number `attempt`, which counts from 1.
fn retry_delay_us(attempt: u32) -> i64 {
    (RETRY_FIRST_US << attempt.saturating_sub(1).min(20)).min(RETRY_MAX_US)
}

/// Delay of a job of this age whose database, object store or engine is unavailable.
///
/// Such a delay counts no attempt, so an outage of any length loses no job.
fn outage_delay_us(age_us: i64) -> i64 {
    (age_us / OUTAGE_DELAY_PER_AGE).clamp(OUTAGE_DELAY_MIN_US, OUTAGE_DELAY_MAX_US)
}

/// Whether jobs of this kind may fail for good. Nothing would enqueue the others again.
fn can_fail(kind: &JobKind) -> bool {
    match kind {
        JobKind::DeleteObjects { .. }
        | JobKind::CheckUpload { .. }
        | JobKind::DiscardUpload { .. }
        | JobKind::Reindex { .. }
        | JobKind::MaintainRenditions
        | JobKind::Sweep => false,
        JobKind::Download { .. }
        | JobKind::FetchSubtitles { .. }
        | JobKind::FetchAudio { .. }
        | JobKind::IngestUpload { .. }
        | JobKind::ProbeDecode { .. }
        | JobKind::BlurHash { .. }
        | JobKind::EncodeAudio { .. }
        | JobKind::Backfill { .. }
        | JobKind::PrepareMp4 { .. }
        | JobKind::EncodeMp4 { .. }
        | JobKind::RefreshMp4 { .. }
        | JobKind::MeasureLoudness { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kinora_domain::{Failure, FailureCode};
    use kinora_fetch::{Pause, RetryBudget};

    use super::*;
    use crate::fixture::{at, job, media_id, source_id, track_id};

    fn retry() -> JobError {
        JobError::Retry("broken".into())
    }

    fn unavailable() -> JobError {
        JobError::Unavailable("the database does not respond".into())
    }

    fn download() -> ClaimedJob {
        job(JobKind::Download { media: media_id() })
    }

    #[test]
    fn every_error_has_one_outcome() {
        let check = |error: JobError, expected: JobOutcome| {
            // The job was created at 1000 s, and this is its third attempt.
            let job = ClaimedJob { attempt: 3, created_at: at(1000), ..download() };
            assert_eq!(after_error(&job, &error, at(1100)), expected, "{error:?}");
        };
        let retry_budget = RetryBudget { failed_attempts: 4, time_left: Duration::from_secs(70) };
        let pause = Pause { wait: Duration::from_millis(2500), retry_budget, is_resumable: true };
        let progress = DownloadProgress { failures: 4, time_left: Duration::from_secs(70) };
        let failure = Failure::new(FailureCode::NotMedia, "the file is no media");
        check(JobError::LeaseLost, JobOutcome::LeaseLost);
        check(JobError::DiskFull, JobOutcome::Defer { run_at: at(1110) });
        check(unavailable(), JobOutcome::Defer { run_at: at(1125) });
        check(
            JobError::SourceRetry(pause),
            JobOutcome::Continue { run_at: at(1102).plus_micros(500_000), progress },
        );
        check(retry(), JobOutcome::Retry { run_at: at(1108) });
        // A job that reports failures to its client does so itself: here a failure is an error like any
        // other.
        check(JobError::Fatal(failure), JobOutcome::Retry { run_at: at(1108) });
    }

    #[test]
    fn retry_backoff_doubles_to_its_maximum_then_fails() {
        let check = |attempt: u32, expected_s: Option<i64>| {
            let job = ClaimedJob { attempt, ..download() };
            let expected =
                expected_s.map_or(JobOutcome::Fail, |delay| JobOutcome::Retry { run_at: at(5000 + delay) });
            assert_eq!(after_error(&job, &retry(), at(5000)), expected, "{attempt}");
        };
        check(0, Some(2)); // never written
        check(1, Some(2));
        check(2, Some(4));
        check(9, Some(512));
        check(10, Some(900));
        check(11, Some(900));
        check(12, None);
        check(u32::MAX, None);
        assert_eq!((1..ATTEMPTS_MAX).map(retry_delay_us).sum::<i64>() / Timestamp::SECOND / 60, 47);
    }

    #[test]
    fn waiting_and_lost_leases_never_fail_a_job() {
        let job = ClaimedJob { attempt: 1000, created_at: at(0), ..download() };
        let retry_budget = RetryBudget { failed_attempts: 9, time_left: Duration::ZERO };
        let pause = Pause { wait: Duration::ZERO, retry_budget, is_resumable: false };
        let progress = DownloadProgress { failures: 9, time_left: Duration::ZERO };
        let check = |error: JobError, expected: JobOutcome| {
            assert_eq!(after_error(&job, &error, at(0)), expected, "{error:?}");
        };
        check(JobError::LeaseLost, JobOutcome::LeaseLost);
        check(JobError::DiskFull, JobOutcome::Defer { run_at: at(10) });
        check(unavailable(), JobOutcome::Defer { run_at: at(2) });
        check(JobError::SourceRetry(pause), JobOutcome::Continue { run_at: at(0), progress });
    }

    #[test]
    fn jobs_never_enqueued_again_retry_forever() {
        let check = |kind: JobKind, can_fail: bool| {
            let job = ClaimedJob { attempt: 12, ..job(kind) };
            let expected = if can_fail { JobOutcome::Fail } else { JobOutcome::Retry { run_at: at(900) } };
            assert_eq!(after_error(&job, &retry(), at(0)), expected, "{kind:?}");
        };
        let (media, source, track) = (media_id(), source_id(1), track_id());
        check(JobKind::Download { media }, true);
        check(JobKind::FetchSubtitles { media, track, source }, true);
        check(JobKind::FetchAudio { media, track }, true);
        check(JobKind::IngestUpload { media }, true);
        check(JobKind::ProbeDecode { media, source }, true);
        check(JobKind::BlurHash { media, source }, true);
        check(JobKind::EncodeAudio { media, source }, true);
        check(JobKind::Backfill { media, source }, true);
        check(JobKind::PrepareMp4 { media, source }, true);
        check(JobKind::EncodeMp4 { media, source }, true);
        check(JobKind::RefreshMp4 { media, source }, true);
        check(JobKind::MeasureLoudness { media, source }, true);
        check(JobKind::DeleteObjects { source }, false);
        check(JobKind::CheckUpload { media }, false);
        check(JobKind::DiscardUpload { media }, false);
        check(JobKind::Reindex { media, source }, false);
        check(JobKind::MaintainRenditions, false);
        check(JobKind::Sweep, false);
    }

    #[test]
    fn outage_wait_grows_with_age_within_its_bounds() {
        let check = |age_s: i64, expected_s: i64| {
            assert_eq!(
                outage_delay_us(age_s * Timestamp::SECOND),
                expected_s * Timestamp::SECOND,
                "{age_s} s"
            );
        };
        check(-5, 2); // clocks of two machines differ
        check(0, 2);
        check(8, 2);
        check(60, 15);
        check(1200, 300);
        check(86_400, 300);
    }
}
